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

Said = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
"""A text that is not blank."""


class Shape(BaseModel):
    """The base of all shapes. Validators are built on first use."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, defer_build=True, frozen=True)


class Failure(Shape):
    """An error in the form that a model reads."""

    category: ErrorCategory = Field(default=ErrorCategory.EXECUTION, description="What kind of failure it is")
    message: str = Field(description="What happened, in a sentence")
    details: JsonValue = Field(default=None, description="More, as JSON")
    retry_after: float | None = Field(default=None, ge=0, description="Seconds after which another try makes sense")


class Usage(Shape):
    """The usage of a turn."""

    requests: int = Field(default=0, ge=0, description="Requests to the model")
    tool_calls: int = Field(default=0, ge=0, description="Calls that the model made")
    input_tokens: int = Field(default=0, ge=0, description="Tokens that the model read")
    output_tokens: int = Field(default=0, ge=0, description="Tokens that the model wrote")
    cost: float | None = Field(default=None, ge=0, description="In US dollars, where it is known")


# Tools


class ToolShape(Shape):
    """An event of one execution."""

    execution_id: Id = Field(description="The execution")
    call_id: Id = Field(description="The caller's id of the call; the execution's own where the caller gave none")
    tool: str = Field(description="The name of the tool")
    mode: Mode = Field(default=Mode.INLINE, description="How its result comes back; may be left out for inline tools")


class ToolStartedEvent(ToolShape):
    """A call was accepted."""

    kind: Literal[EventKind.TOOL_STARTED]
    arguments: JsonValue = Field(description="Its arguments, with secret fields masked")


class ToolValidatingEvent(ToolShape):
    """The arguments of a call are validated."""

    kind: Literal[EventKind.TOOL_VALIDATING]


class ToolExecutingEvent(ToolShape):
    """An attempt begins."""

    kind: Literal[EventKind.TOOL_EXECUTING]
    attempt: int = Field(ge=1, description="Which attempt, from 1")
    maximum: int = Field(ge=1, description="How many there may be")


class ToolProgressEvent(ToolShape):
    """Progress of a call."""

    kind: Literal[EventKind.TOOL_PROGRESS]
    stage: str = Field(description="What it is doing")
    fraction: float | None = Field(default=None, ge=0, le=1, description="How much of it all is done, from 0 to 1")
    message: str | None = Field(default=None, description="A sentence for people")


class ToolPartialEvent(ToolShape):
    """A partial result."""

    kind: Literal[EventKind.TOOL_PARTIAL]
    value: JsonValue = Field(description="The part")


class ToolRetryingEvent(ToolShape):
    """An attempt failed, and another follows."""

    kind: Literal[EventKind.TOOL_RETRYING]
    attempt: int = Field(ge=1, description="The attempt that failed")
    maximum: int = Field(ge=1, description="How many there may be")
    error: Failure = Field(description="Why it failed")
    delay: float = Field(ge=0, description="Seconds until the next one")


class ToolResultEvent(ToolShape):
    """The one terminal event of an execution."""

    kind: Literal[EventKind.TOOL_RESULT]
    status: Literal["succeeded", "failed", "cancelled"] = Field(description="How it ended")
    value: JsonValue = Field(default=None, description="The result, where it succeeded")
    error: Failure | None = Field(default=None, description="Why there is no result")


# Requests to people


class RequestShape(Shape):
    """A call that waits for a person."""

    request_id: Id = Field(description="The request; an answer names it")
    execution_id: Id = Field(description="The execution that waits")
    call_id: Id = Field(description="The caller's id of the call")
    tool: str = Field(description="The name of the tool")
    purpose: RequestPurpose | None = Field(
        default=None, description="`approval`, `question`, `wallet` or `front_end_tool`"
    )
    answer_schema: dict[str, JsonValue] | None = Field(default=None, description="JSON schema of an answer")
    expires_at: AwareDatetime | None = Field(default=None, description="When it stops waiting, if it does")
    arguments_hash: str | None = Field(default=None, description="What is asked, as a hash that an answer can repeat")


class HumanRequestEvent(RequestShape):
    """A person is asked to approve a call, or for an answer."""

    kind: Literal[EventKind.HUMAN_REQUEST]
    payload: JsonValue = Field(description="What is asked: the arguments of the call")


class HumanAnswerEvent(Shape):
    """A person's answer. It closes the request."""

    kind: Literal[EventKind.HUMAN_ANSWER]
    request_id: Id = Field(description="The request that is answered")
    answer: JsonValue = Field(description="The answer, in the form that the request's schema says")
    arguments_hash: Id | None = Field(default=None, description="The request's, to refuse an answer to anything else")


class WalletTxRequestEvent(RequestShape):
    """A person's wallet is asked to sign and send a transaction."""

    kind: Literal[EventKind.WALLET_TX_REQUEST]
    to: str = Field(description="The address that it goes to")
    value: str = Field(description="The amount in wei, as a text, since many readers lose digits of large numbers")
    data: str = Field(description="The call data, as hexadecimal with 0x")
    gas_limit: int | None = Field(
        default=None, ge=0, description="The most gas that it may use; else the wallet chooses"
    )
    description: str = Field(description="What it does, for the person who signs")


class WalletTxResponseEvent(Shape):
    """The outcome of a transaction. It closes the request."""

    kind: Literal[EventKind.WALLET_TX_RESPONSE]
    request_id: Id = Field(description="The request that is answered")
    status: Literal["confirmed", "rejected", "failed"] = Field(description="What became of it")
    transaction_hash: Id | None = Field(default=None, description="Its hash, where it was sent")
    detail: str | None = Field(default=None, description="More for the model, such as why it was rejected")
    arguments_hash: Id | None = Field(default=None, description="The request's, to refuse an answer to anything else")


# Requests of people


class UserRequestEvent(Shape):
    """A user's request to the system, which the model does not see. A worker answers it."""

    kind: Literal[EventKind.USER_REQUEST]
    request_id: Id | None = Field(default=None, description="The same again is the same request; made if not given")
    request_kind: Id = Field(description="What is wanted: the name under which a worker is registered")
    payload: JsonValue = Field(default=None, description="What the worker is given")
    priority: Literal["urgent", "normal", "low"] = Field(default="normal", description="Who goes first in a queue")


class UserResponseEvent(Shape):
    """The answer to a user's request, or data that a worker asked a client for."""

    kind: Literal[EventKind.USER_RESPONSE]
    request_id: Id = Field(description="The request that is answered")
    request_kind: Id = Field(description="What was wanted")
    payload: JsonValue = Field(default=None, description="What came of it")
    error: Failure | None = Field(default=None, description="Why nothing came of it")


# The system


class SystemNoticeEvent(Shape):
    """A notice for people."""

    kind: Literal[EventKind.SYSTEM_NOTICE]
    message: Said = Field(description="What it is")
    details: JsonValue = Field(default=None, description="More, as JSON")


class SystemErrorEvent(Shape):
    """An error outside of any call."""

    kind: Literal[EventKind.SYSTEM_ERROR]
    message: Said = Field(description="What went wrong")
    for_model: bool = Field(default=False, description="Whether the model is told too")
    details: JsonValue = Field(default=None, description="More, as JSON")


class ConnectionEvent(Shape):
    """The state of a connection to an external service."""

    kind: Literal[EventKind.CONNECTION]
    state: Literal["connecting", "connected", "disconnected", "missing_api_key"] = Field(description="How it stands")
    name: Id | None = Field(default=None, description="Which connection: a model's provider, a server")
    message: str | None = Field(default=None, description="A sentence for people")


# The conversation


class UserInputEvent(Shape):
    """A message of the user to the model."""

    kind: Literal[EventKind.USER_INPUT]
    text: Said = Field(description="What is said")
    message_id: Id | None = Field(default=None, description="The sender's id of the message")


class TurnShape(Shape):
    """An event of one turn."""

    turn_id: Id = Field(description="The turn")


class TurnStartedEvent(TurnShape):
    """A turn of the model begins."""

    kind: Literal[EventKind.TURN_STARTED]


class TextEvent(TurnShape):
    """Text of the model: a piece of a message (`delta`) or the finished message (`text`)."""

    kind: Literal[EventKind.TEXT]
    message_id: Id | None = Field(default=None, description="The message, where a turn has several")
    response: int | None = Field(default=None, description="Which response of the model it is, counted from 1")
    delta: str | None = Field(default=None, description="The next piece; live only, never stored")
    text: str | None = Field(default=None, description="The whole message; it takes the place of its pieces")

    @model_validator(mode="after")
    def _one_of_both(self) -> "TextEvent":
        if (self.delta is None) is (self.text is None):
            raise ValueError("it has either a delta or a text")
        return self


class TurnPausedEvent(TurnShape):
    """The turn waits for a person."""

    kind: Literal[EventKind.TURN_PAUSED]
    usage: Usage | None = Field(default=None, description="What it used so far")


class TurnFinishedEvent(TurnShape):
    """The turn ended."""

    kind: Literal[EventKind.TURN_FINISHED]
    usage: Usage | None = Field(default=None, description="What it used")


class TurnFailedEvent(TurnShape):
    """The turn ended with an error."""

    kind: Literal[EventKind.TURN_FAILED]
    error: Failure = Field(description="Why")


class TurnInterruptedEvent(TurnShape):
    """The turn was interrupted."""

    kind: Literal[EventKind.TURN_INTERRUPTED]
    message: str | None = Field(default=None, description="Who or why, for people")


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
