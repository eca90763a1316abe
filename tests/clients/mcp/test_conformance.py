"""The conformance suite of MCP against `callboard serve`, whose tools are the fixtures that the suite calls."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.clients.mcp.server_process import ROOT, serving
from tests.conftest import without
from tests.node_packages import install, newest_node, newest_npm
from tests.servers import Unavailable

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "mcp.md"
REVISIONS = {"2025-11-25": 84, "2026-07-28": 194}
"""The number of checks that each revision requires."""
WITHIN = 180.0


async def run(address: str, revision: str, folder: Path) -> dict[str, tuple[int, int]]:
    """Run the suite. Returns the number of checks that passed and failed, by scenario."""
    script = folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [str(newest_node()), str(script), "server", "--url", f"{address}/mcp", "--requirements", revision]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(WITHIN):
        output = (await process.communicate())[0].decode()
    found = re.findall(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed$", output, re.MULTILINE)
    assert found, output[-2_000:]
    return {name: (int(passed), int(failed)) for name, passed, failed in found}


async def test_h4_conformance_suite_passes(request: pytest.FixtureRequest) -> None:
    try:
        files = sorted((HERE / "suite").iterdir())
        folder = install("mcp-conformance", files, newest_npm(), newest_node())
    except Unavailable as why:
        without("The conformance suite", why)
    async with serving("tests.clients.mcp.fixtures:registry") as server:
        results = {revision: await run(server.address, revision, folder) for revision in REVISIONS}
    for revision, scenarios in results.items():
        assert {name for name, (_, failed) in scenarios.items() if failed} == set()
        assert sum(passed for passed, _ in scenarios.values()) >= REVISIONS[revision]
    text, table = PAGE.read_text(), _table(results)
    start, end = text.index("| scenario |"), text.index("\n<!-- end of the table -->")
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text[:start] + table + text[end:])
        return
    assert text[start:end] == table, "the table differs: look at the change, then run this test with --update-golden"


def _table(results: dict[str, dict[str, tuple[int, int]]]) -> str:
    """Return the table of the documentation: the checks that passed, of all checks of a scenario."""
    rows = ["| scenario | " + " | ".join(results) + " |", "| --- |" + " --- |" * len(results)]
    for name in dict.fromkeys(name for scenarios in results.values() for name in scenarios):
        counts = [scenarios.get(name) for scenarios in results.values()]
        shown = ["" if each is None else f"{each[0]}/{sum(each)}" if sum(each) else "not scored" for each in counts]
        rows.append(f"| {name} | " + " | ".join(shown) + " |")
    totals = [sum(passed for passed, _ in scenarios.values()) for scenarios in results.values()]
    rows.append("| total | " + " | ".join(map(str, totals)) + " |")
    return "\n".join(rows) + "\n"
