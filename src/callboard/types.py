"""Words shared by every layer: JSON data and the small enumerations of a tool's policy.

Nothing here imports anything of Callboard.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias, TypedDict

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""JSON data, as Python values."""

JSONSchema: TypeAlias = dict[str, Any]
"""A JSON Schema document (or a part of one)."""


class Violation(TypedDict):
    """A rule that a value breaks: in arguments, in an answer, or in a posted event."""

    path: str
    """Where the value is, such as `payload.lines[0]`; empty for the whole document."""
    message: str
    received: Any
    """The value, shortened or masked; None where it is missing."""


class Mode(StrEnum):
    """How the result of a tool comes back."""

    INLINE = "inline"
    """Within the turn; promoted to a late result when it outlasts its inline budget."""
    BACKGROUND = "background"
    """An acknowledgement at once, progress while it runs, one final result later."""
    HUMAN = "human"
    """After a person has approved the call, or has given the answer that is the result."""


class Wake(StrEnum):
    """What a late result does to an idle session."""

    WAKE = "wake"
    """It starts a new turn by itself."""
    WAIT = "wait"
    """It waits for the next input."""
    UI_ONLY = "ui_only"
    """People see it; the model is not woken for it."""


class RequestPurpose(StrEnum):
    """The purpose of a request to a person or a page."""

    APPROVAL = "approval"
    """A person approves or refuses a call before it runs."""
    QUESTION = "question"
    """A person gives the answer that is the result of the call."""
    WALLET = "wallet"
    """A person's wallet signs and sends a transaction."""
    FRONT_END_TOOL = "front_end_tool"
    """The client's page carries the call out, and its answer is the result."""


class Logout(StrEnum):
    """What closing a session does to an execution that still runs."""

    FINISH_FIRST = "finish_first"
    """The close waits for it, up to the grace time."""
    KEEP_RUNNING = "keep_running"
    """It goes on; its result waits on the board for the next login."""
    CANCEL = "cancel_on_logout"
    """It is cancelled."""
