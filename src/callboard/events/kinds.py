"""The kinds of events. Unknown kinds, of a newer version, are plain strings and are not refused."""

from enum import StrEnum

from ..turns import TurnStatus


class EventKind(StrEnum):
    """The kind of an event."""

    TOOL_STARTED = "tool_started"
    """A call was accepted, with its arguments; secret fields are masked."""
    TOOL_VALIDATING = "tool_validating"
    """The arguments of a call are validated."""
    TOOL_EXECUTING = "tool_executing"
    """An attempt begins, with its number and the maximum."""
    TOOL_PROGRESS = "tool_progress"
    """Progress of a call, for people."""
    TOOL_PARTIAL = "tool_partial"
    """A partial result, for people."""
    TOOL_RETRYING = "tool_retrying"
    """An attempt failed, and another follows after a delay."""
    TOOL_RESULT = "tool_result"
    """The one terminal event of an execution: its value or its error."""
    HUMAN_REQUEST = "human_request"
    """A call waits for a person: the question, and the schema of an answer."""
    HUMAN_ANSWER = "human_answer"
    """A person's answer to such a request."""
    WALLET_TX_REQUEST = "wallet_tx_request"
    """A call waits for a person's wallet: the transaction to sign."""
    WALLET_TX_RESPONSE = "wallet_tx_response"
    """The outcome of that transaction."""
    USER_REQUEST = "user_request"
    """A user's request to the system, which the model does not see."""
    USER_RESPONSE = "user_response"
    """The answer to such a request, or data that a worker asked a client for."""
    SYSTEM_NOTICE = "system_notice"
    """A notice for people."""
    SYSTEM_ERROR = "system_error"
    """An error outside of any call. Its `for_model` says whether the model sees it too."""
    CONNECTION = "connection"
    """The state of a connection to an external service."""
    USER_INPUT = "user_input"
    """A message of the user to the model."""
    TURN_STARTED = "turn_started"
    """A turn of the model begins."""
    TEXT = "text"
    """Text of the model: pieces while it is generated, then the whole message."""
    TURN_PAUSED = "turn_paused"
    """The turn waits for a person, and continues after the answer."""
    TURN_FINISHED = "turn_finished"
    """The turn ended, with its usage."""
    TURN_FAILED = "turn_failed"
    """The turn ended with an error."""
    TURN_INTERRUPTED = "turn_interrupted"
    """The turn was interrupted."""


def turn_stop(status: TurnStatus) -> EventKind:
    """The kind of the event with which a turn ends or pauses."""
    return EventKind(f"turn_{status}")


TURN_STOPS = frozenset(map(turn_stop, TurnStatus))
"""The kinds of events with which a turn ends or pauses."""
TURN_ENDS = TURN_STOPS - {EventKind.TURN_PAUSED}
"""The kinds of terminal events of a turn."""
