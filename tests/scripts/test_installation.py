"""Installations of the wheel into new environments: their sizes, and that an extra brings all that its part needs."""

import re
import subprocess
from pathlib import Path

import pytest

from bench import size

ROOT = Path(__file__).parents[2]
SERVER = """
from callboard import Runtime
from callboard.server.app import create_app

assert create_app(Runtime(model="offline")).routes
"""
PARTS = {
    "callboard": "from callboard import Runtime, tool; Runtime([])",
    "callboard[server]": SERVER,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_installation_is_complete_and_within_its_bound(name: str, tmp_path: Path) -> None:
    wheel = size.build_wheel(tmp_path)
    found = size.installed(wheel, size.INSTALLS[name], tmp_path / "venv")
    assert found["bytes"] / 1e6 <= size.LIMITS[name], found["packages"]
    command = [str(tmp_path / "venv/bin/python"), "-I", "-c", PARTS[name]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_sizes_of_the_documentation_are_those_of_the_results() -> None:
    rows = re.findall(r"^\| (.+?) \| ([\d.]+) \| (\d+) \|$", (ROOT / "docs/install.md").read_text(), re.MULTILINE)
    results = (ROOT / "bench/RESULTS.md").read_text()
    assert len(rows) == len(size.INSTALLS)
    for (name, megabytes, packages), row in zip(rows, size.INSTALLS, strict=True):
        assert name.replace("`", "") == row
        assert f"| `{row}` | {megabytes} | {packages} | " in results
