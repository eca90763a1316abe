"""The shape of every kind of event: a tagged union of models, one per kind.

They document the wire format and validate posted events; the runtime writes its own events without them. An event is
flat here: its fields are beside its `kind`. Building two dozen models takes milliseconds, so only `posting` imports
this module.

Unknown fields, of a newer version, are kept. `posting` refuses them from sides that must not add any.
"""

from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    model_validator,
)

from ..errors import ErrorCategory
from ..types import JSONSchema, Mode, RequestPurpose
from .kinds import EventKind

MAX_ID = 200


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it must have printable characters only")
    return text


def _not_blank(text: str) -> str:
    if not text or text.isspace():
        raise ValueError("it must not be blank")
    return text


Id = Annotated[str, Field(min_length=1, max_length=MAX_ID), AfterValidator(_printable)]
"""An id or a name: 1 to 200 printable characters."""

NonBlankText = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
"""A text that is not blank."""


class Shape(BaseModel):
    """The base of all shapes. Validators are built on first use."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, defer_build=True, frozen=True)


class Failure(Shape):
    """An error in the form that a model reads."""

    category: ErrorCategory = Field(default=ErrorCategory.EXECUTION, description="Category of the error")
    message: str = Field(description="The error in one sentence")
    details: JsonValue = Field(default=None, description="Further details, as JSON")
    retry_after: float | None = Field(default=None, ge=0, description="Seconds to wait before another attempt")


class Usage(Shape):
    """The usage of a turn."""

    requests: int = Field(default=0, ge=0, description="Requests to the model")
    tool_calls: int = Field(default=0, ge=0, description="Tool calls of the model")
    input_tokens: int = Field(default=0, ge=0, description="Input tokens")
    output_tokens: int = Field(default=0, ge=0, description="Output tokens")
    cost: float | None = Field(default=None, ge=0, description="Estimated cost in US dollars, if a price is known")
    unpriced_requests: int = Field(default=0, ge=0, description="Requests that are not part of the cost")


# Tools


class ToolShape(Shape):
    """An event of one execution."""

    execution_id: Id = Field(description="Id of the execution")
    call_id: Id = Field(description="The caller's id of the call; the execution id if the caller gave none")
    tool: str = Field(description="The name of the tool")
    mode: Mode = Field(default=Mode.INLINE, description="Mode of the tool; may be omitted for inline tools")


class ToolStartedEvent(ToolShape):
    """A call was accepted."""

    kind: Literal[EventKind.TOOL_STARTED]
    arguments: JsonValue = Field(description="Arguments of the call, with secret fields masked")


class ToolValidatingEvent(ToolShape):
    """The arguments of a call are validated."""

    kind: Literal[EventKind.TOOL_VALIDATING]


class ToolExecutingEvent(ToolShape):
    """An attempt begins."""

    kind: Literal[EventKind.TOOL_EXECUTING]
    attempt: int = Field(ge=1, description="Number of the attempt, from 1")
    maximum: int = Field(ge=1, description="Maximum number of attempts")


class ToolProgressEvent(ToolShape):
    """Progress of a call."""

    kind: Literal[EventKind.TOOL_PROGRESS]
    stage: str = Field(description="Current stage of the work")
    fraction: float | None = Field(default=None, ge=0, le=1, description="Finished share of the work, from 0 to 1")
    message: str | None = Field(default=None, description="Message for people")


class ToolPartialEvent(ToolShape):
    """A partial result."""

    kind: Literal[EventKind.TOOL_PARTIAL]
    value: JsonValue = Field(description="Partial result")


class ToolRetryingEvent(ToolShape):
    """An attempt failed, and another follows."""

    kind: Literal[EventKind.TOOL_RETRYING]
    attempt: int = Field(ge=1, description="Number of the failed attempt")
    maximum: int = Field(ge=1, description="Maximum number of attempts")
    error: Failure = Field(description="Error of the attempt")
    delay: float = Field(ge=0, description="Seconds until the next attempt")


class ToolResultEvent(ToolShape):
    """The one terminal event of an execution."""

    kind: Literal[EventKind.TOOL_RESULT]
    status: Literal["succeeded", "failed", "cancelled"] = Field(description="Final status")
    value: JsonValue = Field(default=None, description="Result, if the call succeeded")
    error: Failure | None = Field(default=None, description="Error, if the call did not succeed")


# Requests to people


class RequestShape(Shape):
    """A call that waits for a person."""

    request_id: Id = Field(description="Id of the request; an answer repeats it")
    execution_id: Id = Field(description="Id of the waiting execution")
    call_id: Id = Field(description="The caller's id of the call")
    tool: str = Field(description="The name of the tool")
    purpose: RequestPurpose | None = Field(
        default=None, description="`approval`, `question`, `wallet` or `front_end_tool`"
    )
    answer_schema: dict[str, JsonValue] | None = Field(default=None, description="JSON schema of an answer")
    expires_at: AwareDatetime | None = Field(default=None, description="When the request expires; null: never")
    arguments_hash: str | None = Field(
        default=None, description="Hash of the request's arguments, which an answer can repeat"
    )


class HumanRequestEvent(RequestShape):
    """A person is asked to approve a call, or for an answer."""

    kind: Literal[EventKind.HUMAN_REQUEST]
    payload: JsonValue = Field(description="Arguments of the call")


class HumanAnswerEvent(Shape):
    """A person's answer. It closes the request."""

    kind: Literal[EventKind.HUMAN_ANSWER]
    request_id: Id = Field(description="Id of the answered request")
    answer: JsonValue = Field(description="The answer, which matches the request's schema")
    purpose: RequestPurpose | None = Field(
        default=None, description="Purpose of the answered request; set by the runtime"
    )
    arguments_hash: Id | None = Field(default=None, description="Hash of the request; an answer to another is refused")
    answered_by: Id | None = Field(default=None, description="Id of the user who answered; set by the runtime")


class WalletTxRequestEvent(RequestShape):
    """A person's wallet is asked to sign and send a transaction."""

    kind: Literal[EventKind.WALLET_TX_REQUEST]
    to: str | None = Field(default=None, description="Address of the recipient; null: it creates a contract")
    value: str = Field(description="Amount in wei, as a string, because many parsers lose digits of large numbers")
    data: str = Field(description="Call data or the code of a new contract, hexadecimal with 0x")
    gas_limit: int | None = Field(default=None, ge=0, description="Gas limit; null: the wallet chooses")
    description: str = Field(description="Description for the person who signs")
    chain_id: int | None = Field(default=None, ge=1, description="Id of the network; null: the wallet's own")
    from_address: str | None = Field(default=None, description="Address of the account that must send; null: any")
    abi: JsonValue = Field(
        default=None, description="ABI of the called function: a signature, or a list of signatures or JSON entries"
    )
    confirmations: int | None = Field(
        default=None, ge=1, le=100, description="Confirmations to wait for before the answer; null: 1"
    )


class WalletTxResponseEvent(Shape):
    """The outcome of a transaction. It closes the request."""

    kind: Literal[EventKind.WALLET_TX_RESPONSE]
    request_id: Id = Field(description="Id of the answered request")
    status: Literal["confirmed", "rejected", "failed"] = Field(description="Outcome of the transaction")
    transaction_hash: Id | None = Field(default=None, description="Hash of the transaction, if it was sent")
    contract_address: Id | None = Field(default=None, description="Address of the contract that it created")
    detail: str | None = Field(default=None, description="Details for the model, such as the reason of a rejection")
    arguments_hash: Id | None = Field(default=None, description="Hash of the request; an answer to another is refused")
    answered_by: Id | None = Field(default=None, description="Id of the user who answered; set by the runtime")


# Requests of people


class UserRequestEvent(Shape):
    """A user's request to the system, which the model does not see. A worker answers it."""

    kind: Literal[EventKind.USER_REQUEST]
    request_id: Id | None = Field(default=None, description="Repeat it to repeat the request; generated if omitted")
    request_kind: Id = Field(description="Name of the worker that answers the request")
    payload: JsonValue = Field(default=None, description="Arguments of the worker")
    priority: Literal["urgent", "normal", "low"] = Field(default="normal", description="Priority in the queue")


class UserResponseEvent(Shape):
    """The answer to a user's request, or data that a worker asked a client for."""

    kind: Literal[EventKind.USER_RESPONSE]
    request_id: Id = Field(description="Id of the answered request")
    request_kind: Id = Field(description="Name of the worker")
    payload: JsonValue = Field(default=None, description="Result of the worker")
    error: Failure | None = Field(default=None, description="Error, if there is no result")


# The system


class SystemNoticeEvent(Shape):
    """A notice for people."""

    kind: Literal[EventKind.SYSTEM_NOTICE]
    message: NonBlankText = Field(description="Text of the notice")
    details: JsonValue = Field(default=None, description="Further details, as JSON")


class SystemErrorEvent(Shape):
    """An error outside of any call."""

    kind: Literal[EventKind.SYSTEM_ERROR]
    message: NonBlankText = Field(description="Text of the error")
    for_model: bool = Field(default=False, description="Whether the model reads it too")
    details: JsonValue = Field(default=None, description="Further details, as JSON")


class ConnectionEvent(Shape):
    """The state of a connection to an external service."""

    kind: Literal[EventKind.CONNECTION]
    state: Literal["connecting", "connected", "disconnected", "missing_api_key"] = Field(
        description="State of the connection"
    )
    name: Id | None = Field(default=None, description="Name of the connection, such as a provider or a server")
    message: str | None = Field(default=None, description="Message for people")


# The conversation


class UserInputEvent(Shape):
    """A message of the user to the model."""

    kind: Literal[EventKind.USER_INPUT]
    text: NonBlankText = Field(description="Text of the message")
    message_id: Id | None = Field(default=None, description="The client's id of the message")


class TurnShape(Shape):
    """An event of one turn."""

    turn_id: Id = Field(description="Id of the turn")


class TurnStartedEvent(TurnShape):
    """A turn of the model begins."""

    kind: Literal[EventKind.TURN_STARTED]


class TextEvent(TurnShape):
    """Text of the model: a piece of a message (`delta`) or the finished message (`text`)."""

    kind: Literal[EventKind.TEXT]
    message_id: Id | None = Field(default=None, description="Id of the message, if a turn has several")
    response: int | None = Field(default=None, description="Number of the model's response, from 1")
    delta: str | None = Field(default=None, description="The next piece; sent to live readers, never stored")
    text: str | None = Field(default=None, description="The finished message, which replaces its pieces")

    @model_validator(mode="after")
    def _one_of_both(self) -> "TextEvent":
        if (self.delta is None) is (self.text is None):
            raise ValueError("it has either a delta or a text")
        return self


class TurnPausedEvent(TurnShape):
    """The turn waits for a person."""

    kind: Literal[EventKind.TURN_PAUSED]
    usage: Usage | None = Field(default=None, description="Usage so far")


class TurnFinishedEvent(TurnShape):
    """The turn ended."""

    kind: Literal[EventKind.TURN_FINISHED]
    usage: Usage | None = Field(default=None, description="Usage of the turn")


class TurnFailedEvent(TurnShape):
    """The turn ended with an error."""

    kind: Literal[EventKind.TURN_FAILED]
    error: Failure = Field(description="Error of the turn")


class TurnInterruptedEvent(TurnShape):
    """The turn was interrupted."""

    kind: Literal[EventKind.TURN_INTERRUPTED]
    message: str | None = Field(default=None, description="Message for people")


AnyEvent: TypeAlias = Annotated[
    ToolStartedEvent
    | ToolValidatingEvent
    | ToolExecutingEvent
    | ToolProgressEvent
    | ToolPartialEvent
    | ToolRetryingEvent
    | ToolResultEvent
    | HumanRequestEvent
    | HumanAnswerEvent
    | WalletTxRequestEvent
    | WalletTxResponseEvent
    | UserRequestEvent
    | UserResponseEvent
    | SystemNoticeEvent
    | SystemErrorEvent
    | ConnectionEvent
    | UserInputEvent
    | TurnStartedEvent
    | TextEvent
    | TurnPausedEvent
    | TurnFinishedEvent
    | TurnFailedEvent
    | TurnInterruptedEvent,
    Field(discriminator="kind"),
]
"""Any event of a kind that this version knows."""

SHAPES: dict[str, type[Shape]] = {
    get_args(shape.model_fields["kind"].annotation)[0]: shape for shape in get_args(get_args(AnyEvent)[0])
}
"""The shape of every kind."""


def wire_schema() -> JSONSchema:
    """Return the JSON schema of any event, flat, for documents that describe the wire format."""
    adapter: TypeAdapter[Any] = TypeAdapter(AnyEvent)
    return adapter.json_schema()
