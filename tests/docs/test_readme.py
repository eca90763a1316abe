"""The first screen of the README: its program, its pictures and its figures (O4)."""

import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.page_pictures import FOLDER, SCHEMES
from tests.conftest import without
from tests.docs.blocks import PAGES, README, ROOT, blocks
from tests.server.browser.chromium import chromium
from tests.servers import Unavailable

COMMAND = "from callboard.cli import main; main()"
MAX_BYTES = 250_000


def size(picture: Path) -> tuple[int, int]:
    """Return the width and the height of a PNG file."""
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG\r\n"), picture.name
    return struct.unpack(">II", data[16:24])


def test_o4_the_program_of_the_readme_is_served_as_written(tmp_path: Path) -> None:
    [block] = blocks(README)
    (tmp_path / "shop.py").write_text(block.source)

    def run(*arguments: str) -> str:
        command = [sys.executable, "-c", COMMAND, "tools", *arguments, "--tools", "shop:tools", "--json"]
        done = subprocess.run(command, cwd=tmp_path, input="y\n", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert {each["name"] for each in json.loads(run("list"))} == {"build_report", "pay"}
    assert "25 EUR went to Ada" in run("run", "pay", "--args", '{"to": "Ada", "euros": 25}')
    assert '"pages"' in run("run", "build_report", "--args", '{"quarter": "2026-Q3"}')


def test_o4_pictures_that_pages_show_exist_and_are_small() -> None:
    named = re.compile(r"[\"(]([^\"():\s]+\.(?:png|svg))[\")]")
    shown = {(page.parent / target).resolve() for page in PAGES for target in named.findall(page.read_text())}
    assert {FOLDER / f"page-{scheme}.png" for scheme in SCHEMES} <= shown
    for picture in shown:
        assert picture.is_file(), picture
        assert picture.stat().st_size < MAX_BYTES, picture


def test_o4_figures_of_the_readme_are_those_of_the_results() -> None:
    row = re.compile(r"^\| (?:\*\*)?(\w+)[^|]*\| ([^|]+) \| ([\d.,]+) \| ([\d.,]+) \|$", re.MULTILINE)
    rows = row.findall(README.read_text())
    assert len(rows) == 13, "every path that was measured, also those that are faster"
    results = [
        [cell.strip() for cell in line.split("|")]
        for line in (ROOT / "bench/RESULTS.md").read_text().splitlines()
        if line.startswith("|")
    ]
    for library, path, add, awaiting in rows:
        [measured] = [row for row in results if row[1].startswith(f"{library} ") and row[2] == path]
        assert (add, awaiting) == (measured[4], measured[8]), path


@pytest.mark.slow
def test_o4_pictures_of_the_page_can_be_taken(tmp_path: Path) -> None:
    try:
        chromium()
    except Unavailable as why:
        without("Chromium", why)
    command = [sys.executable, "-m", "scripts.page_pictures", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for scheme in SCHEMES:
        picture = tmp_path / f"page-{scheme}.png"
        assert size(picture) == size(FOLDER / picture.name) == (2560, 1600)
        assert 20_000 < picture.stat().st_size < MAX_BYTES
