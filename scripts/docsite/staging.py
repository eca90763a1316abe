"""The pages of the site: the files of the repository that become pages, with their links adapted, and generated ones.

A link of a page may lead to any file of the repository that is a page. So the same files can be read in the repository.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from . import api_reference, command_reference, error_reference, http_reference, settings_reference
from .markdown import GENERATED, ROOT

WIDE = "---\nhide:\n  - toc\n---\n\n"
"""The front matter of a page with programs side by side."""

LINK = re.compile(r"(\]\()([^)\s#]*)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^ *```")


class BrokenLink(Exception):
    """A page links to a file that is not a page."""


def pages() -> dict[str, str]:
    """Make all pages of the site: their paths, and their Markdown. Raises `BrokenLink`."""
    sources = dict(_sources())
    made = {path: _page(source, path, sources) for source, path in sources.items()}
    made |= {f"reference/api/{name}": text for name, text in api_reference.pages()}
    made["reference/http.md"] = http_reference.page()
    made["reference/commands.md"] = command_reference.page()
    made["reference/settings.md"] = settings_reference.page()
    made["reference/errors.md"] = error_reference.page()
    return made


def _sources() -> Iterator[tuple[Path, str]]:
    """Yield the files of the repository that become pages, with the paths of their pages."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield path, _index(path.relative_to(ROOT / "docs"))
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.suffix in (".md", ".py") and "__pycache__" not in path.parts:
            yield path, _index(path.relative_to(ROOT).with_suffix(".md"))
    for name in ("README.md", "RESULTS.md"):
        yield ROOT / "bench" / name, _index(Path("bench", name.title() if name == "RESULTS.md" else name))
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"):
        yield ROOT / name, name.lower()


def _index(path: Path) -> str:
    return path.with_name("index.md").as_posix() if path.name == "README.md" else path.as_posix().lower()


def _page(source: Path, path: str, sources: dict[Path, str]) -> str:
    if source.suffix == ".py":
        return _program(source)
    text = "".join(_linked(source, path, sources))
    if not source.is_relative_to(ROOT / "docs") or source.name == "README.md":  # an edit link would not find it
        return GENERATED + text
    return WIDE + text if path.startswith("moving/") else text


def _program(source: Path) -> str:
    """Make the page of an example."""
    name = source.relative_to(ROOT / "examples").as_posix()
    return f'{GENERATED}# `{name}`\n\n```python title="{name}"\n{source.read_text()}```\n'


def _linked(source: Path, path: str, sources: dict[Path, str]) -> Iterator[str]:
    """Yield the lines of a page, with links to the pages of the site."""
    is_code = False
    for line in source.read_text().splitlines(keepends=True):
        if FENCE.match(line):
            is_code = not is_code
        yield line if is_code else LINK.sub(lambda found: _link(found, source, path, sources), line)


def _link(found: re.Match[str], source: Path, path: str, sources: dict[Path, str]) -> str:
    before, target, after = found.groups()
    if not target or re.match(r"[a-z]+:", target):
        return found.group()
    file = Path(os.path.normpath(source.parent / target))
    if file.is_dir():
        file /= "README.md"
    if file.suffix in (".png", ".svg") and file.exists():
        return found.group()
    if file not in sources:
        if _is_generated(file):
            return found.group()
        raise BrokenLink(f"{source.relative_to(ROOT)} links to {target}, which is not a page of the site.")
    relative = os.path.relpath(sources[file], PurePosixPath(path).parent)
    return f"{before}{relative}{after}"


def _is_generated(file: Path) -> bool:
    """Whether a path is in the generated part of the reference, whose links are checked in the built site."""
    return file.is_relative_to(ROOT / "docs" / "reference")
