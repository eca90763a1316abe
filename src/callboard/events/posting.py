"""Validation of posted events: permission first, then JSON and size, then the shape of the kind.

In this order, so that a side that may not post a kind learns nothing about its shape. Nothing is posted here; accepted
events are returned to the caller. This module loads the shapes of all kinds, which takes a while: import it when an
event is posted.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from ..errors import CallboardError
from ..jsonrules.depth import exceeds_depth
from .kinds import EventKind
from .problems import MAX_DEPTH, TOO_DEEP, EventInvalid, EventTooLarge, json_error, problem, quoted, shape_error
from .routing import ROUTES, Side, may_post, postable
from .shapes import SHAPES, Shape

MAX_EVENT_BYTES = 256 * 1024
"""The default limit on the size of an event, as JSON."""

_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")


class PostingRefused(CallboardError):
    """A side may not post this kind. The event was not validated."""

    code = "posting_refused"

    def __init__(self, kind: str, side: Side) -> None:
        self.kind = kind
        self.side = side
        self.allowed = postable(side)
        """The kinds that this side may post."""
        unknown = "" if kind in ROUTES else ", a kind that this version does not know"
        allowed = ", ".join(self.allowed) or "nothing"
        super().__init__(f"The {side} may not post {quoted(kind)}{unknown}. Allowed for this side: {allowed}.")


class Posted(NamedTuple):
    """An event that was accepted."""

    kind: str
    """An `EventKind`, or the name of a kind that this version does not know."""
    data: dict[str, Any]
    """JSON data with every field of the kind, defaults included."""


def accept(event: Any, side: Side, *, max_bytes: int = MAX_EVENT_BYTES) -> Posted:
    """Validate a flat event: a mapping with `kind` and the fields of that kind.

    Raises `PostingRefused`, `EventTooLarge` or `EventInvalid`. Only the runtime may add unknown fields and post unknown
    kinds.
    """
    if not isinstance(event, Mapping):
        raise EventInvalid(problem((), "An event is an object with a kind and the fields of that kind.", event))
    fields = dict(cast("Mapping[Any, Any]", event))
    kind = fields.get("kind")
    if not isinstance(kind, str):
        raise EventInvalid(problem(("kind",), "Every event has a kind, which is a text.", kind))
    if not may_post(kind, side):
        raise PostingRefused(kind, side)
    encoded = _document(fields, max_bytes)
    try:
        if kind in SHAPES:
            return Posted(EventKind(kind), _known(encoded, SHAPES[kind], "allow" if side is Side.RUNTIME else "forbid"))
        if not _NAME.fullmatch(kind):
            raise EventInvalid(problem(("kind",), "A kind is a name: at most 100 of a-z, 0-9 and _.", kind))
        data = from_json(encoded)
        del data["kind"]
        return Posted(str(kind), data)
    except ValueError as error:  # a number with too many digits to be read back
        raise json_error(fields) from error


def _document(fields: dict[Any, Any], max_bytes: int) -> bytes:
    """Return an event as JSON that every reader can decode."""
    try:
        encoded = to_json(fields)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise json_error(fields) from error
    if len(encoded) > max_bytes:
        raise EventTooLarge(len(encoded), max_bytes)
    if b"NaN" in encoded or b"Infinity" in encoded:
        outside = _STRINGS.sub(b"", encoded)
        if b"N" in outside or b"I" in outside:
            raise json_error(fields)
    if exceeds_depth(encoded, MAX_DEPTH):
        raise json_error(fields, TOO_DEEP)
    return encoded


def _known(encoded: bytes, shape: type[Shape], extra: Literal["allow", "forbid"]) -> dict[str, Any]:
    try:
        event = shape.model_validate_json(encoded, extra=extra)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] == "json_invalid":
            raise
        raise shape_error(error, [name for name in shape.model_fields if name != "kind"]) from None
    fields = event.__dict__ | (event.model_extra or {})  # three times faster than a loop
    return {name: value if type(value) is str else _plain(value) for name, value in fields.items() if name != "kind"}


def _plain(value: Any) -> Any:
    """Return a field as JSON data. Lists and dicts are payloads, which are JSON data already."""
    return cast("Any", value) if isinstance(value, list | dict) else to_jsonable_python(value)
