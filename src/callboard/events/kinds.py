"""The kinds of events. Kinds that a newer version knows are carried as plain strings, not refused."""

from enum import StrEnum

from ..turns import TurnStatus


class EventKind(StrEnum):
    """What an entry of the board is about."""

    TOOL_STARTED = "tool_started"
    """A call was accepted: its arguments, with secret fields masked."""
    TOOL_VALIDATING = "tool_validating"
    """Its arguments are held against the tool's input."""
    TOOL_EXECUTING = "tool_executing"
    """An attempt begins: which one, of how many."""
    TOOL_PROGRESS = "tool_progress"
    """How far it is, for people."""
    TOOL_PARTIAL = "tool_partial"
    """A part of the result, for people."""
    TOOL_RETRYING = "tool_retrying"
    """An attempt failed and another will follow after a delay."""
    TOOL_RESULT = "tool_result"
    """The one terminal event of an execution: its value, or why there is none."""
    HUMAN_REQUEST = "human_request"
    """A call waits for a person: what is asked, and what an answer must look like."""
    HUMAN_ANSWER = "human_answer"
    """What a person said to such a request."""
    WALLET_TX_REQUEST = "wallet_tx_request"
    """A call waits for a person's wallet: the transaction to be signed."""
    WALLET_TX_RESPONSE = "wallet_tx_response"
    """What became of that transaction."""
    USER_REQUEST = "user_request"
    """Something that a person's side wants of the system, past the model."""
    USER_RESPONSE = "user_response"
    """What came of it; or data that a worker asked a person's side for."""
    SYSTEM_NOTICE = "system_notice"
    """Something that people should know."""
    SYSTEM_ERROR = "system_error"
    """Something went wrong outside of any call. Its poster says whether the model is told too."""
    CONNECTION = "connection"
    """How a connection to something outside stands."""
    USER_INPUT = "user_input"
    """What the user says to the model."""
    TURN_STARTED = "turn_started"
    """The model begins to work."""
    TEXT = "text"
    """What the model says: a piece while it speaks, the whole message when it is finished."""
    TURN_PAUSED = "turn_paused"
    """The turn waits for a person, and goes on when the person has answered."""
    TURN_FINISHED = "turn_finished"
    """The model has nothing more to say: what the turn used."""
    TURN_FAILED = "turn_failed"
    """The turn ended with an error."""
    TURN_INTERRUPTED = "turn_interrupted"
    """Somebody stopped the turn."""


def turn_end(status: TurnStatus) -> EventKind:
    """The kind of the event that ends a turn, or its part up to a pause, with a status."""
    return EventKind(f"turn_{status}")


TURN_ENDS = frozenset(map(turn_end, TurnStatus))
"""The kinds of events that end a turn, or its part up to a pause."""
