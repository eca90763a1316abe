"""The table of errors in docs/server.md has every code of the source, with its status (O4)."""

import re
from pathlib import Path

from scripts.docsite.problem_codes import problem_codes

ROOT = Path(__file__).parents[2]


def documented() -> set[tuple[int, str]]:
    """Return each status and code of the table."""
    section = (ROOT / "docs/server.md").read_text().partition("## Errors")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d{3}) \| (.+) \|$", section, re.MULTILINE)
    return {(int(status), code) for status, codes in rows for code in re.findall(r"`([a-z_]+…?)`", codes)}


def test_o4_every_code_is_in_the_table_and_no_other() -> None:
    assert {(401, "unauthenticated"), (431, "head_too_large"), (422, "tool_…"), (503, "store")} <= problem_codes()
    assert documented() == problem_codes()
