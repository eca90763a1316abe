"""The kinds of events: their shapes, the events of the runtime, and their documentation (B2)."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from callboard import RetryPolicy, ToolContext, ToolError, tool
from callboard.events.kinds import TURN_ENDS, TURN_STOPS, EventKind
from callboard.events.routing import route
from callboard.events.shapes import (
    SHAPES,
    AnyEvent,
    Failure,
    RequestShape,
    Shape,
    ToolShape,
    TurnShape,
    Usage,
    wire_schema,
)
from callboard.testing import Harness

PAGE = Path(__file__).parents[2] / "docs" / "events.md"


# Shapes


def test_b2_every_kind_has_a_shape() -> None:
    assert list(SHAPES) == list(EventKind)
    for kind, shape in SHAPES.items():
        assert shape.__name__ == f"{kind.title().replace('_', '')}Event"


def test_b2_kinds_are_a_tagged_union() -> None:
    union: TypeAdapter[Any] = TypeAdapter(AnyEvent)
    read = union.validate_json(b'{"kind":"user_response","request_id":"r","request_kind":"gas_price","payload":7}')
    assert type(read) is SHAPES["user_response"]
    with pytest.raises(ValidationError, match="hologram"):
        union.validate_json(b'{"kind":"hologram"}')


def test_b2_fields_of_newer_versions_are_kept() -> None:
    read = SHAPES["connection"].model_validate_json(b'{"kind":"connection","state":"connected","hops":3}')
    assert read.model_dump(mode="json")["hops"] == 3


def test_b2_wire_schema_distinguishes_kinds_and_describes_every_field() -> None:
    schema = wire_schema()
    assert set(schema["discriminator"]["mapping"]) == set(EventKind)
    for definition in schema["$defs"].values():
        for name, field in definition.get("properties", {}).items():
            assert name == "kind" or field["description"], f"{definition['title']}.{name}"


def test_b2_answer_names_its_request() -> None:
    for kind, shape in SHAPES.items():
        if route(kind).opens_request or route(kind).closes:
            assert shape.model_fields["request_id"].is_required()


def test_b2_a_turn_stops_with_its_end_or_a_pause() -> None:
    assert {"turn_finished", "turn_failed", "turn_interrupted"} == TURN_ENDS
    assert TURN_ENDS | {"turn_paused"} == TURN_STOPS


def test_b2_shapes_are_loaded_by_the_first_post() -> None:
    code = "import sys\nfrom callboard import Runtime, Session, tool\nprint('callboard.events.shapes' in sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# Events of the runtime


@tool(retry=RetryPolicy(max_attempts=2, base_delay=1.0), idempotent=True)
async def fetch(ctx: ToolContext, url: Annotated[str, "Where"]) -> dict[str, str]:
    """Fetch a page, in the second attempt."""
    await ctx.progress("fetching", 0.5, "half")
    await ctx.progress("fetching")
    await ctx.partial({"url": url})
    if ctx.attempt == 1:
        raise ToolError("The line is busy.", category="transient", retry_after=1.5, details={"queue": 3})
    return {"url": url}


@tool(mode="background")
async def count() -> int:
    """Count."""
    return 3


@tool
async def fail() -> None:
    """Fail."""
    raise ToolError("It cannot be done.", category="permanent")


@pytest.mark.anyio
async def test_b2_events_of_the_runtime_match_the_shapes() -> None:
    async with Harness(fetch, count, fail) as test:
        call = await test.start("fetch", {"url": "here"}, call_id="c1")
        await test.advance(2.0)
        assert (await call).status == "succeeded"
        await test.session.call("count")
        await test.session.call("fail")
        await test.session.call("fetch", {"address": 5})
        await test.session.call("no such tool", {"a": 1})
        await test.session.call("fetch", "[")
        waiting = await test.start("fetch", {"url": "there"})
        await test.session.cancel_all()
        await waiting
        await test.session.notice("Look.")
        events = test.events()
    assert {event.kind for event in events} == {kind for kind in EventKind if kind.startswith("tool_")} | {
        "system_notice"
    }
    for event in events:
        shape = SHAPES[event.kind].model_validate_json(flat(event.kind, event.encoded), extra="forbid")
        assert not isinstance(shape, ToolShape) or shape.execution_id


def flat(kind: str, line: bytes) -> bytes:
    """Return the line of an event as a flat event: its kind in front of its data."""
    return b'{"kind":"%b",%b' % (kind.encode(), line.partition(b'"data":{')[2][:-1])


# Documentation

PARTS: dict[str, type[Shape]] = {
    "Every event of a tool": ToolShape,
    "Every request": RequestShape,
    "Every event of a turn": TurnShape,
    "Failure": Failure,
    "Usage": Usage,
}


NAMES = {
    "JsonValue": "any JSON",
    "Mode": "mode",
    "RequestPurpose": "purpose",
    "ErrorCategory": "category",
    "Failure": "[failure](#failure)",
    "Usage": "[usage](#usage)",
}


def words(schema: dict[str, Any]) -> str:
    """Return the name of a JSON type on the page."""
    if "anyOf" in schema:
        return f"{words(schema['anyOf'][0])} or null"
    if "$ref" in schema:
        return NAMES[schema["$ref"].rpartition("/")[2]]
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("maxLength") == 200:
        return "id"
    return "time" if schema.get("format") == "date-time" else schema["type"]


def documented(shape: type[Shape]) -> list[str]:
    """Return the rows of the page's table for a shape: the fields that its base does not have."""
    schema = shape.model_json_schema()
    shared = {name for base in shape.__mro__[1:] if issubclass(base, Shape) for name in base.model_fields}
    rows: list[str] = []
    for name in shape.model_fields:
        if name != "kind" and name not in shared:
            field = schema["properties"][name]
            default = "" if field.get("default") is None else f"`{json.dumps(field['default'])}`"
            given = "required" if name in schema.get("required", ()) else default
            rows.append(f"| `{name}` | {words(field)} | {given} | {field['description']} |")
    return rows


def section(title: str) -> list[str]:
    """Return the rows of the first table under a heading of the page."""
    found = re.search(rf"^###? {re.escape(title)}\n(.*?)(?=^##|\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"docs/events.md has no section {title!r}"
    return [line for line in found.group(1).splitlines() if line.startswith("| `")]


@pytest.mark.parametrize(
    ("title", "shape"), [*PARTS.items(), *((f"`{kind}`", shape) for kind, shape in SHAPES.items())]
)
def test_b2_the_page_has_every_field(title: str, shape: type[Shape]) -> None:
    expected = documented(shape)
    assert section(title) == expected, "write into docs/events.md:\n" + "\n".join(expected)
