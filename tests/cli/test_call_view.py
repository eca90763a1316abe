"""The progress of a call and its nested calls, in any order of their events (O3)."""

import io
from collections.abc import Iterator

import pytest
from pydantic_core import to_json
from rich.console import Console

from callboard.cli.terminal.call_view import CallView, LiveView
from callboard.events.event import Event, encode_event

CALL = "call-1"


def sample_events() -> Iterator[Event]:
    """A call with a nested call, whose events come first."""
    order = [
        ("tool_started", "child"),
        ("tool_executing", "child"),
        ("tool_started", "parent"),
        ("tool_executing", "parent"),
        ("tool_partial", "parent"),
        ("tool_partial", "child"),
        ("tool_result", "child"),
        ("tool_result", "parent"),
    ]
    for number, (kind, tool) in enumerate(order, 1):
        ids = {"execution_id": f"x-{tool}", "call_id": CALL if tool == "parent" else f"x-{tool}", "tool": tool}
        more = {"attempt": 1, "maximum": 3, "value": f"{tool}'s", "status": "succeeded"}
        yield Event(number, encode_event(kind, 1_800_000_000.0, to_json(ids | more)))


def test_o3_lines_distinguish_nested_calls(capsys: pytest.CaptureFixture[str]) -> None:
    with CallView(CALL) as view:
        for event in sample_events():
            view.show(event)
    assert capsys.readouterr().err.splitlines() == [
        "parent: partial: parent's",
        "child: partial: child's",
        "child: succeeded",
    ]


def test_o3_the_live_view_distinguishes_nested_calls() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    view = LiveView(CALL, console)  # not entered: only printed lines and rows are checked
    kept = io.StringIO()
    view._console = Console(file=kept)
    rows: list[list[str]] = []
    for event in sample_events():
        view.show(event)
        rows.append([row.tool for row in view._table.rows.values()])
    assert rows == [["child"], ["child"], *[["parent", "child"]] * 4, ["parent"], []]
    lines = kept.getvalue().splitlines()
    assert lines[:2] == ["▸ parent's", "▸ child child's"]
    assert lines[2].startswith("✓ child in ")
    assert len(lines) == 3
