"""Every Python block of the documentation runs as it stands (O4).

A block is a whole program, or is marked as a fragment, which continues the blocks before it on its page.
"""

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from callboard.testing.providers import OpenAIChatDouble
from callboard.tools.function import Options
from tests.docs.blocks import PAGES, ROOT, Block, blocks, site_pages

TITLES = re.compile(r"Fragment: .+|Before(: .+)?|After|")
TUTORIAL = ROOT / "docs/tutorial.md"
"""A page with files, which its own test saves and runs."""
WITH_MODEL = ROOT / "docs/recipes/openai-compatible-servers.md"
"""A page with a program that needs a model on this machine."""


RUN = [page for page in PAGES if blocks(page) and page not in (TUTORIAL, WITH_MODEL)]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_o4_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # relative paths, such as databases
    names: dict[str, Any] = {}
    for block in blocks(page):
        assert TITLES.fullmatch(block.title), f"{page.name}:{block.line}"
        if block.is_fragment:
            continue_program(block, names)
        elif not block.is_before or has_imports(block):
            names |= run_program(block)


def run_program(block: Block) -> dict[str, Any]:
    """Run a block as the main program of a fresh process does, and return its names."""
    names: dict[str, Any] = {"__name__": "before" if block.is_before else "__main__"}
    exec(compile(block.code, str(block.page), "exec"), names)
    return names


def continue_program(block: Block, names: dict[str, Any]) -> None:
    """Run a fragment with the names of the blocks before it. It may await, as inside a function."""
    pending = eval(compile(block.code, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.iscoroutine(pending):
        asyncio.run(pending)


def has_imports(block: Block) -> bool:
    """Whether all libraries are installed that a block imports. Compiles it in any case."""
    tree = ast.parse(block.source)
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return all(find_spec(name.partition(".")[0]) for name in imported)


def test_o4_every_block_of_python_is_one_that_is_run() -> None:
    """No block has another name for the language, or is indented."""
    for page in PAGES:
        fences = re.findall(r"^ *```(?:py|python|python3|pycon)\b.*$", page.read_text(), re.MULTILINE)
        assert len(fences) == len(blocks(page)), page.name


@pytest.mark.slow
def test_o4_recipe_for_compatible_servers_runs(tmp_path: Path) -> None:
    [block] = blocks(WITH_MODEL)
    with OpenAIChatDouble(["It costs 49 euros."]) as double:
        done = run_file(block, tmp_path, OPENAI_BASE_URL=f"{double.url}/v1")
    assert done.stdout == "finished It costs 49 euros.\n", done.stderr
    assert double.bodies[0]["model"] == "llama3.2"
    assert double.refusals == []


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_o4_programs_are_files_that_run(page: Path, tmp_path: Path) -> None:
    """Each in a process and a folder of its own, with every warning as an error."""
    for block in blocks(page):
        if not block.is_fragment and not block.is_before:
            folder = tmp_path / str(block.line)
            folder.mkdir()
            done = run_file(block, folder)
            assert done.returncode == 0, f"{page.name}:{block.line}\n{done.stderr}"


def run_file(block: Block, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(block.source)
    command = [sys.executable, "-W", "error", "program.py"]
    variables = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=120)


def test_o4_lines_are_short_enough_to_read() -> None:
    """Except rows of tables, which cannot be wrapped."""
    pages = [page for page in PAGES if page.parent.name != "decisions"]
    found = [(page.name, line) for page in pages for line in page.read_text().splitlines() if len(line) > 120]
    assert [each for each in found if not each[1].startswith("|")] == []


def test_o4_links_between_pages_lead_somewhere() -> None:
    """Links to other files, to headings of this page or another, and to generated pages of the site."""
    generated = {(ROOT / "docs" / path).resolve() for path in site_pages() if path.startswith("reference/")}
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text()):
            found = (page.parent / target) if target else page
            if not found.exists() and found.resolve() in generated:
                continue  # the built site is checked, too
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


def test_o4_every_option_of_a_tool_is_in_the_table_of_options() -> None:
    text = (ROOT / "docs/tools.md").read_text()
    table = text[text.index("| option | meaning |") :].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in table.splitlines())))
    assert set(Options.__annotations__) == named
