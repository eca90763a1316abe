"""A table of which side may post a kind of event, which sides see it, and whether it enters the transcript.

Only pure look-ups: `posting`, the transcript and readers apply them. Some routes depend on the data of the single
event; without data they do not apply.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from ..types import Mode
from .kinds import EventKind


class Side(StrEnum):
    """A participant that posts to a board or reads it."""

    PEOPLE = "people"
    """The user and every client that acts for the user: a page, a command line, a wallet."""
    MODEL = "model"
    """The model. The runtime posts its text and its calls."""
    RUNTIME = "runtime"
    """Callboard itself, which sees every event."""
    WORKERS = "workers"
    """The workers that answer users' requests."""


class Family(StrEnum):
    """One of the two streams that share a board."""

    CHAT = "chat"
    """The conversation: inputs, turns, text, and inline tools."""
    SYSTEM = "system"
    """Everything else."""


class Transcript(StrEnum):
    """Whether an event becomes part of the transcript that the model reads."""

    NO = "no"
    """Never."""
    YES = "yes"
    """Always."""
    AS_RESULT = "as_result"
    """As the result of the call that made the request."""
    FINISHED_MESSAGE = "finished_message"
    """Only the finished message: an event whose data has `text`."""
    WHERE_SAID = "where_said"
    """Only if `for_model` in its data is true. Then the model sees it too."""


class Kept(StrEnum):
    """Whether an event is stored."""

    STORED = "stored"
    """Always."""
    FINISHED_ONLY = "finished_only"
    """Only the finished message (its data has `text`). Pieces go to live readers only."""


class Route(NamedTuple):
    """The route of one kind."""

    posted_by: frozenset[Side]
    seen_by: frozenset[Side]
    """The sides that always see it."""
    transcript: Transcript
    family: Family | None
    """None: chat for an inline tool, system for any other. The data has the tool's `mode`, if it is not inline."""
    opens_request: bool = False
    closes: EventKind | None = None
    """The kind of request that this kind closes."""
    kept: Kept = Kept.STORED


_PEOPLE = frozenset({Side.PEOPLE})
_RUNTIME = frozenset({Side.RUNTIME})
_SYSTEM = frozenset({Side.RUNTIME, Side.WORKERS})
_BOTH = frozenset({Side.PEOPLE, Side.MODEL})
_SERVICE = frozenset({Side.PEOPLE, Side.WORKERS})

_TURN = Route(_RUNTIME, _PEOPLE, Transcript.FINISHED_MESSAGE, Family.CHAT)
_TOOL = Route(_RUNTIME, _PEOPLE, Transcript.NO, None)
_REQUEST = Route(_RUNTIME, _PEOPLE, Transcript.NO, Family.SYSTEM, opens_request=True)
_ANSWER = Route(_PEOPLE, _BOTH, Transcript.AS_RESULT, Family.SYSTEM)
_NOTE = Route(_SYSTEM, _PEOPLE, Transcript.NO, Family.SYSTEM)

ROUTES: Mapping[str, Route] = {
    EventKind.USER_INPUT: Route(_PEOPLE, _BOTH, Transcript.YES, Family.CHAT),
    EventKind.TURN_STARTED: _TURN,
    EventKind.TEXT: _TURN._replace(kept=Kept.FINISHED_ONLY),
    EventKind.TURN_PAUSED: _TURN,
    EventKind.TURN_FINISHED: _TURN,
    EventKind.TURN_FAILED: _TURN,
    EventKind.TURN_INTERRUPTED: _TURN,
    EventKind.TOOL_STARTED: _TOOL,
    EventKind.TOOL_VALIDATING: _TOOL,
    EventKind.TOOL_EXECUTING: _TOOL,
    EventKind.TOOL_PROGRESS: _TOOL,
    EventKind.TOOL_PARTIAL: _TOOL,
    EventKind.TOOL_RETRYING: _TOOL,
    EventKind.TOOL_RESULT: Route(_RUNTIME, _BOTH, Transcript.YES, None),
    EventKind.HUMAN_REQUEST: _REQUEST,
    EventKind.HUMAN_ANSWER: _ANSWER._replace(closes=EventKind.HUMAN_REQUEST),
    EventKind.WALLET_TX_REQUEST: _REQUEST,
    EventKind.WALLET_TX_RESPONSE: _ANSWER._replace(closes=EventKind.WALLET_TX_REQUEST),
    EventKind.USER_REQUEST: Route(_PEOPLE, _SERVICE, Transcript.NO, Family.SYSTEM),
    EventKind.USER_RESPONSE: Route(_SERVICE, _PEOPLE, Transcript.NO, Family.SYSTEM),
    EventKind.SYSTEM_NOTICE: _NOTE,
    EventKind.SYSTEM_ERROR: Route(_SYSTEM, _PEOPLE, Transcript.WHERE_SAID, Family.SYSTEM),
    EventKind.CONNECTION: _NOTE,
}
"""The route of every kind that this version knows."""

UNKNOWN = Route(_RUNTIME, _PEOPLE, Transcript.NO, Family.SYSTEM)
"""The route of any other kind: people see it, and the model never does."""


def route(kind: str) -> Route:
    """Return the route of a kind, known or not."""
    return ROUTES.get(kind, UNKNOWN)


def may_post(kind: str, side: Side) -> bool:
    """Return whether a side may post a kind."""
    return side in route(kind).posted_by


def postable(side: Side) -> tuple[EventKind, ...]:
    """Return the known kinds that a side may post."""
    return tuple(kind for kind in EventKind if may_post(kind, side))


def seen_by(kind: str, side: Side, data: Mapping[str, Any] | None = None) -> bool:
    """Return whether a side sees an event."""
    row = route(kind)
    if side in row.seen_by or side is Side.RUNTIME:
        return True
    return side is Side.MODEL and row.transcript is Transcript.WHERE_SAID and _for_model(data)


def enters_transcript(kind: str, data: Mapping[str, Any] | None = None) -> bool:
    """Return whether an event enters the transcript."""
    match route(kind).transcript:
        case Transcript.NO:
            return False
        case Transcript.YES | Transcript.AS_RESULT:
            return True
        case Transcript.FINISHED_MESSAGE:
            return _finished(data)
        case Transcript.WHERE_SAID:
            return _for_model(data)


def family(kind: str, data: Mapping[str, Any] | None = None) -> Family:
    """Return the family of an event. A tool's event without a `mode` belongs to an inline tool."""
    if (known := route(kind).family) is not None:
        return known
    mode = None if data is None else data.get("mode")
    return Family.CHAT if mode is None or mode == Mode.INLINE else Family.SYSTEM


def is_stored(kind: str, data: Mapping[str, Any] | None = None) -> bool:
    """Return whether an event is stored. Otherwise it goes to live readers only, without a number."""
    return route(kind).kept is Kept.STORED or _finished(data)


def _finished(data: Mapping[str, Any] | None) -> bool:
    return data is not None and isinstance(data.get("text"), str)


def _for_model(data: Mapping[str, Any] | None) -> bool:
    return data is not None and data.get("for_model") is True
