"""Every Python example in the documentation runs, page by page, from top to bottom (O4)."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[tuple[int, str]]:
    """Return the examples of a page, each with its first line number."""
    text = page.read_text()
    return [(text.count("\n", 0, found.start(1)), found.group(1)) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES[1:] if examples(page)], ids=lambda page: page.name)
async def test_o4_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # relative paths in examples, such as databases
    names: dict[str, Any] = {"__name__": f"docs_{page.stem}"}
    for line, source in examples(page):
        code = compile("\n" * line + source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        pending = eval(code, names)
        if inspect.isawaitable(pending):
            await pending


def test_o4_the_example_of_the_readme_is_a_file_that_runs(tmp_path: Path) -> None:
    [(_, source)] = examples(README)
    (tmp_path / "example.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "-I", "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    schema, status, value, kinds = done.stdout.splitlines()
    assert "build_report" in schema
    assert (status, value) == ("started", "{'quarter': '2026-Q3', 'pages': 42}")
    assert re.fullmatch(r"tool_started .*tool_progress .*tool_result", kinds)


def test_o4_lines_are_short_enough_to_read() -> None:
    """Except rows of tables, which cannot be wrapped."""
    pages = [README, *sorted((ROOT / "docs").glob("*.md"))]
    found = [(page.name, line) for page in pages for line in page.read_text().splitlines() if len(line) > 120]
    assert [each for each in found if not each[1].startswith("|")] == []


def test_o4_links_between_pages_lead_somewhere() -> None:
    """Links to other files, and to headings of this page or another."""
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text()):
            found = (page.parent / target) if target else page
            assert found.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(found), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_o4_decisions_have_a_context_a_decision_and_consequences() -> None:
    """Every page is listed, too."""
    index = (ROOT / "docs/decisions/README.md").read_text()
    for page in sorted((ROOT / "docs/decisions").glob("*.md")):
        if page.name != "README.md":
            text = page.read_text()
            assert f"]({page.name})\n" in index, page.name
            names = "Context|Decision|Consequences|Cost|What it costs"
            sections = re.findall(rf"^(?:## |\*\*)({names})\b", text, re.MULTILINE)
            assert len(sections) == 3, page.name


def test_o4_pages_name_the_subjects_of_their_sentences() -> None:
    """Sentences speak of a part of the program or of the reader, not of an unnamed person."""
    unnamed = re.compile(r"\b(whoever|somebody|someone|nobody|anybody|everybody|one's|he|she|his|him)\b", re.IGNORECASE)
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "bench/README.md"]:
        assert unnamed.findall(page.read_text()) == [], page.name


def test_o4_files_of_the_source_that_pages_name_exist() -> None:
    """Such as `execution/runner.py`, below the package."""
    for page in PAGES:
        for file in re.findall(r"(?<![\w/.-])((?:[a-z_]+/)+[a-z_]+\.py)\b", page.read_text()):
            assert (ROOT / "src/callboard" / file).exists() or (ROOT / file).exists(), f"{page.name} names {file}"
