"""The tool: a frozen record that holds everything there is to know about it.

Schemas for every dialect, the entry in a manifest, how a result is rendered: all of it comes from here, and there is no
second table. It is made by `@tool`, by `dynamic_tool`, or from another tool by a transform.
"""

import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, Self, cast

from typing_extensions import ParamSpec, TypeVar

from ..errors import RegistrationError
from ..schemas.clean import clean
from ..schemas.dialects import dialect
from ..schemas.secrets import has_secrets
from ..types import JSON, JSONSchema, Logout, Mode, RequestPurpose, Wake
from .arguments import Arguments
from .gates import Gate, check_gate
from .handler import Handler
from .policies import BreakerPolicy, RetryPolicy
from .result import Result, as_text

RESERVED_NAMESPACE = "callboard"
"""The namespace of the built-in `task_*` tools, which every session sees."""

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)
"""What the function takes and gives back: a tool can still be called as it."""

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", re.ASCII)
"""What every provider accepts as the name of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool(Generic[P, R]):
    """A typed definition: name, what it takes, what it gives, how it is to be treated, and its handler."""

    name: str
    description: str
    arguments: Arguments = field(repr=False)
    result: Result = field(repr=False)
    handler: Handler | None = field(repr=False)
    """None for a human tool without a body, whose answer is the result."""
    namespace: str = "default"
    mode: Mode = Mode.INLINE
    answer: Any = field(default=None, repr=False)
    """The type that a person is asked for, for a human tool without a body."""
    topic: str = ""
    """A title for people; by default made from the name."""
    group: str | None = None
    tags: tuple[str, ...] = ()
    channels: frozenset[str] | None = None
    """Where it may be used (`text`, `voice`, …); None means everywhere."""
    gate: Gate | None = None
    idempotent: bool = False
    """Whether a second run with the same arguments does no harm."""
    timeout: float | None = None
    """Seconds that one attempt may take."""
    total_timeout: float | None = None
    """Seconds that the whole execution may take, retries and their delays included."""
    inline_budget: float = 10.0
    """Seconds after which an inline call is promoted to a late result."""
    retry: RetryPolicy | None = None
    breaker: BreakerPolicy | None = None
    concurrency: int | None = None
    """How many calls may run at once; None means no limit of its own."""
    estimated_duration: float | None = None
    usage: str | None = None
    """A rule for the model on when to use it, added to the description."""
    examples: tuple[Mapping[str, JSON], ...] = ()
    result_limit: int | None = None
    """How many characters of a result the model is shown."""
    renderers: Mapping[str, Callable[[Any], str]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """By channel, how a result reads aloud or on a small screen; the default is its JSON."""
    logout: Logout = Logout.FINISH_FIRST
    wake: Wake = Wake.WAKE
    asks: str = "human_request"
    """The kind of event with which a person is asked: `human_request`, or `wallet_tx_request` for a wallet."""
    front_end: bool = False
    """Whether the client's page carries the calls out."""
    expires: float | None = None
    """Seconds after which a request to a person expires."""
    origin: str | None = field(default=None, repr=False)
    """Module and qualified name of what it was made from, to know it again after a reload."""
    lifetime: AbstractAsyncContextManager[Any] | None = field(default=None, repr=False)
    """What must be entered before the first call and left after the last, for tools that hold a connection."""
    direct: Callable[..., Coroutine[Any, Any, Any]] | None = field(init=False, repr=False)
    """The function itself, where a call has just to await it: no person, time limit, lifetime, context or thread."""
    _cache: dict[str, JSONSchema | None] = field(default_factory=dict[str, "JSONSchema | None"], repr=False, init=False)
    label: str = field(init=False, repr=False)
    """What events say of it, JSON: its name, and its mode if that is another than `inline`."""
    secret: bool | None = field(default=None, repr=False, init=False)
    """What `has_secrets` says, once it was asked."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise RegistrationError(
                f"{self.name!r} cannot be the name of a tool: providers take up to 64 letters, digits, '_' and '-', "
                "beginning with a letter or '_'."
            )
        if not self.description.strip():
            raise RegistrationError(f"The tool {self.name} has no description. Give it a docstring or description=.")
        check_gate(self.gate)
        object.__setattr__(self, "mode", Mode(self.mode))
        object.__setattr__(self, "logout", Logout(self.logout))
        object.__setattr__(self, "wake", Wake(self.wake))
        bare = self.mode is not Mode.HUMAN and self.timeout is None and self.total_timeout is None
        direct = self.handler.direct if bare and self.handler is not None and self.lifetime is None else None
        object.__setattr__(self, "direct", direct)
        mode = "" if self.mode is Mode.INLINE else f',"mode":"{self.mode.value}"'  # for readers of one family
        object.__setattr__(self, "label", f'"tool":"{self.name}"{mode}')
        if not self.topic:
            object.__setattr__(self, "topic", self.name.replace("_", " ").replace("-", " ").strip().capitalize())

    @property
    def request_purpose(self) -> RequestPurpose:
        """The purpose of the requests that calls of this tool make."""
        if self.front_end:
            return RequestPurpose.FRONT_END_TOOL
        if self.asks == "wallet_tx_request":
            return RequestPurpose.WALLET
        return RequestPurpose.QUESTION if self.handler is None else RequestPurpose.APPROVAL

    @property
    def input_model(self) -> Any:
        """The type of the input, as Pydantic validates it."""
        return self.arguments.model

    @property
    def output_model(self) -> Any:
        """The type of the output; `Any` where none was declared."""
        return self.result.model

    @property
    def title(self) -> str:
        return self.topic

    @property
    def prompt(self) -> str:
        """The description that the model reads: the tool's own, and its usage rule."""
        return f"{self.description}\n\n{self.usage}" if self.usage else self.description

    @property
    def input_schema(self) -> JSONSchema:
        """The cleaned schema of the arguments, shared: not to be changed."""
        if "input" not in self._cache:
            self._cache["input"] = _object(clean(self.arguments.schema()), self.arguments.closed)
        return cast(JSONSchema, self._cache["input"])

    @property
    def has_secrets(self) -> bool:
        """Whether any field of the input is secret, and masked wherever people see it."""
        if self.secret is None:
            object.__setattr__(self, "secret", has_secrets(self.input_schema))
        return bool(self.secret)

    @property
    def output_schema(self) -> JSONSchema | None:
        """The cleaned schema of the result, shared: not to be changed; None where anything may come."""
        if "output" not in self._cache:
            schema = self.result.schema()
            self._cache["output"] = None if schema is None else clean(schema, keep_null=True)
        return self._cache["output"]

    def shared_schema(self, name: str) -> JSONSchema:
        """The schema in a dialect, made once and shared: not to be changed. Raises `SchemaError`."""
        if (made := self._cache.get(f"dialect:{name}")) is None:
            made = self._cache[f"dialect:{name}"] = dialect(name)(self)
        return made

    def schema(self, name: str = "claude") -> JSONSchema:
        """The schema in a dialect, as a copy of one's own. Raises `SchemaError` for what the dialect cannot say."""
        return _copy(self.shared_schema(name))

    def render(self, value: JSON, channel: str | None = None) -> str:
        """A result as it reads on a channel: by the tool's renderer for it, else a text as it is, others as JSON."""
        renderer = self.renderers.get(channel) if channel is not None else None
        return renderer(value) if renderer is not None else as_text(value)

    def serves(self, channel: str | None) -> bool:
        """Whether it may be used on that channel."""
        return channel is None or self.channels is None or channel in self.channels

    def with_(self, **changes: Any) -> Self:
        """A copy with other values."""
        return replace(self, **changes)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function that it was made from, as if it had never been decorated."""
        if self.handler is None:
            raise TypeError(f"{self.name} has no body: a person gives its result")
        return self.handler.function(*args, **kwargs)


def _object(schema: JSONSchema, closed: bool) -> JSONSchema:
    """An input schema in the form that every provider insists on, even where there is nothing to say."""
    made: JSONSchema = {"type": "object", "properties": {}, **schema}
    return {**made, "additionalProperties": False} if closed and "unevaluatedProperties" not in made else made


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(child) for key, child in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_copy(child) for child in cast(list[Any], value)]
    return value
