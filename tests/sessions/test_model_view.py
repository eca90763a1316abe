"""Outcomes as a model reads them (X12)."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic_core import from_json

from callboard import Outcome, ToolError, tool
from callboard.execution.outcome import OutcomeStatus
from callboard.sessions.model_view import DEFAULT_RESULT_LIMIT, render_for_model, render_text


@tool(result_limit=20, renderers={"voice": lambda value: f"It is {value}."})
async def much() -> str:
    """Return a long text."""
    return "0123456789" * 10


def outcome(status: OutcomeStatus, encoded: bytes | None = None, error: ToolError | None = None) -> Outcome:
    return Outcome(status, "x1", "c1", "much", encoded, error)


DONE = outcome(OutcomeStatus.SUCCEEDED, b'"' + b"0123456789" * 10 + b'"')
WHOLE = "0123456789" * 10


def test_x12_result_has_the_same_text_in_every_place() -> None:
    assert render_for_model(DONE, much, None) == render_text(DONE, much, None)
    assert render_for_model(DONE, much, None, 40) == render_text(DONE, much, None, 40) == WHOLE[40:60]
    assert render_text(DONE, much, None, 40, 5) == WHOLE[40:45]
    assert render_text(DONE, much, None, 0, 1_000) == WHOLE[:20], "a part is never longer than the limit"


def test_x12_negative_offset_reads_a_result_from_its_start() -> None:
    assert render_for_model(DONE, much, None, -5) == WHOLE[:20]


def test_x12_a_result_is_rendered_for_the_channel() -> None:
    short = outcome(OutcomeStatus.SUCCEEDED, b"7")
    assert render_for_model(short, much, "voice") == "It is 7."
    assert render_for_model(short, much, "text") == "7"


@pytest.mark.parametrize("renderer", [lambda value: value["missing"], lambda value: value, lambda value: None])
def test_x12_a_renderer_that_fails_does_not_take_the_result_away(
    renderer: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    broken = much.with_(renderers={"voice": renderer})
    assert render_for_model(outcome(OutcomeStatus.SUCCEEDED, b"7"), broken, "voice") == "7"
    assert "a renderer of much failed" in caplog.text


def test_x12_result_of_a_removed_tool_has_the_default_limit() -> None:
    assert render_for_model(DONE, None, "voice") == WHOLE
    long = outcome(OutcomeStatus.SUCCEEDED, b'"%b"' % (b"a" * 2 * DEFAULT_RESULT_LIMIT))
    assert len(render_for_model(long, None, None, 1)) == DEFAULT_RESULT_LIMIT


@pytest.mark.parametrize(
    "given",
    [
        outcome(OutcomeStatus.STARTED, b'{"status":"started","execution_id":"x1"}'),
        outcome(OutcomeStatus.FAILED, error=ToolError("It broke.", details={"at": 1.5})),
    ],
    ids=["goes on", "failed"],
)
def test_x12_acknowledgements_and_errors_are_data_or_text(given: Outcome) -> None:
    data = render_for_model(given, None, None)
    assert isinstance(data, dict)
    assert from_json(render_text(given, None, None)) == data
