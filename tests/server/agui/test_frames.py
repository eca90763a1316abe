"""Every frame equals that of the protocol's own models (H3)."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from callboard.protocols.agui import frames
from tests.server.agui.stage import EVENT

ODD = 'é “x”\u2028\n\n\\ "q" \x00 😀'

INTERRUPT = {
    "id": "r1",
    "reason": "tool_call",
    "message": "May this run?",
    "toolCallId": "c1",
    "responseSchema": {"type": "object"},
    "expiresAt": "2026-11-15T10:05:54.223+00:00",
    "metadata": {"callboard": {"tool": "pay"}},
}

FRAMES = [
    frames.run_started("t", "r", "1.0"),
    frames.run_finished("t", "r", {"outcome": {"type": "success", "pendingToolCallIds": ["c"]}}, []),
    frames.run_finished(
        "t", "r", {"outcome": {"type": "cancelled"}}, [{"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}]
    ),
    frames.run_finished("t", "r", {"result": {"status": "cancelled"}}, []),
    frames.run_finished("t", "r", {"outcome": {"type": "interrupt", "interrupts": [INTERRUPT]}}, []),
    frames.run_error(ODD, "turn_failed"),
    frames.text_start("m", "user"),
    frames.text_content("m", ODD),
    frames.text_end("m"),
    frames.tool_call("c", "add", ODD, "m"),
    frames.tool_result("m", "c", ODD),
    frames.messages_snapshot([{"id": "m", "role": "user", "content": ODD}]),
    frames.state_snapshot({"callboard": {"openRequests": []}}),
    frames.activity_snapshot("a", "callboard.call", {"stage": ODD, "fraction": None}),
    frames.activity_delta("a", "callboard.call", {"stage": ODD, "value": {"a": [1]}}),
]


def extras(value: Any) -> list[str]:
    """Return the names of unknown fields at any depth."""
    if isinstance(value, BaseModel):
        found = list(value.model_extra or {})
        return found + [name for each in type(value).model_fields for name in extras(getattr(value, each))]
    return [name for each in value for name in extras(each)] if isinstance(value, list) else []


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: json.loads(frame.split(b"\n\n")[0][6:])["type"])
def test_h3_frame_equals_that_of_its_model(frame: bytes) -> None:
    assert frame.endswith(b"\n\n")
    for part in frame.removesuffix(b"\n\n").split(b"\n\n"):
        assert part.count(b"\n") == 0, "a frame is one line, whatever its data"
        written = json.loads(part.removeprefix(b"data: "))
        event = EVENT.validate_python(written)
        assert extras(event) == []
        assert json.loads(event.model_dump_json(by_alias=True)) == written
