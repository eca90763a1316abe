"""Every Python example in the documentation runs, page by page, from top to bottom (O4)."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[tuple[int, str]]:
    """The examples of a page, each with the line on which it begins."""
    text = page.read_text()
    return [(text.count("\n", 0, found.start(1)), found.group(1)) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.name)
async def test_o4_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what an example stores, it stores there
    names: dict[str, Any] = {"__name__": f"docs_{page.stem}"}
    for line, source in examples(page):
        code = compile("\n" * line + source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        pending = eval(code, names)
        if inspect.isawaitable(pending):
            await pending


def test_o4_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
