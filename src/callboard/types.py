"""Types shared by every layer: JSON data and the enums of a tool's policy. It imports nothing from Callboard."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias, TypedDict

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""JSON data as Python values."""

JSONSchema: TypeAlias = dict[str, Any]
"""A JSON schema, or a part of one."""


class Violation(TypedDict):
    """A rule that a value breaks: in arguments, in an answer, or in a posted event."""

    path: str
    """The location of the value, such as `payload.lines[0]`; empty for the whole document."""
    message: str
    received: Any
    """The value, shortened or masked; None where it is missing."""


class Mode(StrEnum):
    """The way in which a tool delivers its result."""

    INLINE = "inline"
    """The result is delivered within the turn, or later if the call exceeds its inline budget."""
    BACKGROUND = "background"
    """The call is acknowledged immediately, reports progress while it runs, and delivers its result later."""
    HUMAN = "human"
    """A person approves the call before it runs, or gives the answer that is the result."""


class Placement(StrEnum):
    """The processes in which the calls of a tool run, where an engine connects several."""

    GATEWAY = "gateway"
    """In a gateway: a process that serves people and models."""
    WORKER = "worker"
    """On a worker that serves the tool's queue."""
    ANY = "any"
    """In the process that makes the call."""


class Wake(StrEnum):
    """The effect of a late result on an idle session, from the loudest to the quietest."""

    WAKE = "wake"
    """The result starts a new turn."""
    WAIT = "wait"
    """The result waits for the next input."""
    UI_ONLY = "ui_only"
    """The result is displayed to people and starts no turn."""


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
    """The effect of closing a session on a running execution."""

    FINISH_FIRST = "finish_first"
    """Closing waits for the execution, up to the grace time."""
    KEEP_RUNNING = "keep_running"
    """The execution continues; its result is on the board at the next login."""
    CANCEL = "cancel_on_logout"
    """The execution is cancelled."""
