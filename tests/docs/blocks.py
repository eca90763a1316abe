"""The code blocks of the documentation."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from scripts.docsite import staging

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r'^```python(?: title="([^"]*)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of Python."""

    page: Path
    line: int
    """The number of lines before its first one."""
    title: str
    source: str

    @property
    def is_fragment(self) -> bool:
        """Whether the block is marked as a part of a program, which runs after the blocks before it."""
        return self.title.startswith("Fragment: ")

    @property
    def is_before(self) -> bool:
        """Whether the block is a program for another library."""
        return self.title.startswith("Before")

    @property
    def code(self) -> str:
        """The source, with the line numbers of the page."""
        return "\n" * self.line + self.source


def blocks(page: Path) -> list[Block]:
    """Return the blocks of Python on a page, in order."""
    text = page.read_text()
    return [
        Block(page, text.count("\n", 0, found.start(2)), found.group(1) or "", found.group(2))
        for found in _BLOCK.finditer(text)
    ]


@cache
def site_pages() -> dict[str, str]:
    """Return all pages of the site, the generated ones included."""
    return staging.pages()
