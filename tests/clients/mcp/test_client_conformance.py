"""The client scenarios of MCP's conformance suite, against a runtime that uses the suite's servers."""

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import without
from tests.node_packages import install, newest_node, newest_npm
from tests.servers import Unavailable

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "mcp-client.md"
REVISIONS = {"2025-11-25": 18, "2026-07-28": 32}
"""The number of scenarios that each revision requires."""
WITHIN = 90.0
START, END = "| scenario |", "\n<!-- end of the table -->"
Verdicts = dict[str, tuple[int, int]]
"""The number of checks that passed and failed, by scenario."""


async def run(folder: Path, *arguments: str) -> str:
    """Run the suite. Returns its output."""
    script = folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    process = await asyncio.create_subprocess_exec(
        str(newest_node()),
        str(script),
        *arguments,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(WITHIN):
            return (await process.communicate())[0].decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def required(folder: Path, revision: str) -> Sequence[str]:
    """Return the scenarios that are scored for a revision."""
    listed = await run(folder, "list", "--client", "--requirements", revision)
    scored = listed.split("Client scenarios", 1)[1].split("Run and reported", 1)[0]
    return re.findall(r"^  - (\S+)$", scored, re.MULTILINE)


async def verdict(folder: Path, revision: str, scenario: str, results: Path) -> tuple[int, int]:
    """Run a scenario by itself: in parallel, scenarios of the authorization disturb each other."""
    command = f"{sys.executable} {HERE / 'conformance_client.py'}"
    options = ["--spec-version", revision, "--scenario", scenario, "--command", command, "-o", str(results)]
    output = await run(folder, "client", *options)
    found = re.search(r"^Passed: (\d+)/\d+, (\d+) failed, \d+ warnings$", output, re.MULTILINE)
    assert found is not None, output[-2_000:]
    assert "OVERALL: PASSED" in output, output[-2_000:]
    return int(found[1]), int(found[2])


async def test_h4_client_conformance_scenarios_pass(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    try:
        folder = install("mcp-conformance", sorted((HERE / "suite").iterdir()), newest_npm(), newest_node())
    except Unavailable as why:
        without("The conformance suite", why)
    results: dict[str, Verdicts] = {}
    for revision, count in REVISIONS.items():
        scenarios = await required(folder, revision)
        assert len(scenarios) == count
        results[revision] = {each: await verdict(folder, revision, each, tmp_path) for each in scenarios}
        assert {name for name, (passed, failed) in results[revision].items() if failed or not passed} == set()
    text, table = PAGE.read_text(), _table(results)
    start, end = text.index(START), text.index(END)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text[:start] + table + text[end:])
        return
    assert text[start:end] == table, "the table differs: look at the change, then run this test with --update-golden"


def _table(results: dict[str, Verdicts]) -> str:
    """Return the table of the documentation. It has no numbers of checks: a client that tries again makes more."""
    rows = [f"{START} " + " | ".join(results) + " |", "| --- |" + " --- |" * len(results)]
    for name in dict.fromkeys(name for scenarios in results.values() for name in scenarios):
        verdicts = ["pass" if name in scenarios else "not required" for scenarios in results.values()]
        rows.append(f"| {name} | " + " | ".join(verdicts) + " |")
    rows.append("| scenarios | " + " | ".join(f"{len(each)}/{len(each)}" for each in results.values()) + " |")
    return "\n".join(rows) + "\n"
