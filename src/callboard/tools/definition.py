"""The definition of a tool: a frozen record, and the only source of its schemas, manifest entry and rendering.

`@tool` and `dynamic_tool` make one; a transform derives one from another.
"""

import copy
import logging
import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Self, cast

from pydantic_core import from_json, to_json
from typing_extensions import ParamSpec, TypeVar

from ..errors import RegistrationError, ToolError
from ..schemas.clean import clean
from ..schemas.dialects import dialect
from ..schemas.secrets import has_secrets
from ..spelling import known_names
from ..types import JSON, JSONSchema, Logout, Mode, Placement, RequestPurpose, Wake
from .arguments import Arguments
from .document import encode
from .gates import Gate, check_gate
from .handler import Handler
from .options import Policy, check_options, policy
from .policies import BreakerPolicy, RetryPolicy
from .resource_uri import check_resource

if TYPE_CHECKING:
    from ..content import Block
    from .result import Result  # with Pydantic's models, which a tool made by `@tool` loads

log = logging.getLogger("callboard.tools")

RESERVED_NAMESPACE = "callboard"
"""The namespace of the built-in `task_*` tools, which every session sees."""

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)
"""Parameters and return type of the function: a tool can still be called like the function."""

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", re.ASCII)
"""Tool names that every provider accepts."""
QUEUE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
"""Names of queues, which are a part of an engine's subjects."""


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False)
class Tool(Generic[P, R]):
    """A typed tool: name, description, input, output, policies and handler."""

    name: str
    """The name for models."""
    description: str
    """A text for models that says what the tool does."""
    arguments: Arguments = field(repr=False)
    """The input: its schema and its validation."""
    result: "Result" = field(repr=False)
    """The output: its schema and its encoding."""
    handler: Handler | None = field(repr=False)
    """The code to run; None for a human tool, whose result is a person's answer."""
    namespace: str = "default"
    """The namespace; a session sees the tools of the namespaces that it was opened with."""
    mode: Mode = Mode.INLINE
    """How a call behaves: inline, background or human."""
    answer: Any = field(default=None, repr=False)
    """The type of a person's answer, for a human tool without a handler."""
    topic: str = ""
    """A title for people; derived from the name by default."""
    group: str | None = None
    """A label to select tools by."""
    tags: tuple[str, ...] = ()
    """Labels to select tools by."""
    channels: frozenset[str] | None = None
    """The channels on which the tool may be used (`text`, `voice`, …); None means all."""
    gate: Gate | None = None
    """The feature flag, environment variable or function that decides whether the tool is visible; None: it is."""
    idempotent: bool = False
    """Whether a second run with the same arguments does no harm."""
    as_prompt: bool = False
    """Whether MCP clients offer it to their users as a prompt, instead of to the model: its result is the messages."""
    resource: str | None = None
    """The URI, or URI template of its arguments, under which MCP clients read its result as a resource."""
    mime_type: str | None = None
    """The media type of the resource."""
    icons: tuple[str, ...] = ()
    """The addresses of its icons for MCP clients: `https:` or `data:` URIs of images."""
    read_only: bool | None = None
    """Whether it changes nothing, as a hint for clients; None: not stated."""
    destructive: bool | None = None
    """Whether it may delete or overwrite something, as a hint for clients; None: not stated."""
    open_world: bool | None = None
    """Whether it reaches things outside of the system, such as the web, as a hint for clients; None: not stated."""
    timeout: float | None = None
    """Seconds that one attempt may take."""
    total_timeout: float | None = None
    """Seconds that the whole execution may take, retries and their delays included."""
    inline_budget: float = 10.0
    """Seconds after which an inline call is promoted to a late result."""
    retry: RetryPolicy | None = None
    """The retry policy; None: that of the runtime."""
    breaker: BreakerPolicy | None = None
    """The policy of its circuit breakers; None: that of the runtime."""
    concurrency: int | None = None
    """Calls of this tool that may run at once; None means no limit per tool."""
    placement: Placement | None = None
    """Where calls run if there is an engine; None: on a worker in background mode or with a queue, else where they are
    made."""
    queue: str | None = None
    """The queue of workers for its calls; None: `default`."""
    estimated_duration: float | None = None
    """Seconds that a call usually takes, for people."""
    usage: str | None = None
    """A rule for the model on when to use the tool, appended to the description."""
    examples: tuple[Mapping[str, JSON], ...] = ()
    """Examples of arguments that a call accepts, for the manifest."""
    result_limit: int | None = None
    """Characters of a result that the model sees; the rest is cut."""
    renderers: Mapping[str, Callable[[Any], str]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """Functions by channel that render a result as text, for speech or a small screen; JSON by default."""
    logout: Logout = Logout.FINISH_FIRST
    """The effect of a logout on a running call."""
    wake: Wake = Wake.WAKE
    """The effect of a late result on an idle session."""
    asks: str = "human_request"
    """The kind of the event that asks a person: `human_request`, or `wallet_tx_request` for a wallet."""
    front_end: bool = False
    """Whether the client's page carries the calls out."""
    expires: float | None = None
    """Seconds after which a request to a person expires."""
    origin: str | None = field(default=None, repr=False)
    """Module and qualified name of the source, which identify the tool after a reload."""
    lifetime: AbstractAsyncContextManager[Any] | None = field(default=None, repr=False)
    """A context manager entered before the first call and left after the last, for tools that hold a connection."""
    direct: Callable[..., Coroutine[Any, Any, Any]] | None = field(init=False, repr=False)
    """The function, if a call only awaits it: no person, time limit, lifetime, context or thread. None otherwise."""
    _cache: dict[str, Any] = field(default_factory=dict[str, Any], repr=False, init=False)
    """Schemas, and the function that finds the content of a result."""
    label: str = field(init=False, repr=False)
    """JSON members that identify the tool in events: its name, and its mode unless that is `inline`."""
    secret: bool | None = field(default=None, repr=False, init=False)
    """The cached value of `has_secrets`."""

    def __post_init__(self) -> None:
        if not _is_text(self.name) or not _NAME.fullmatch(self.name):
            raise RegistrationError(
                f"{self.name!r} cannot be the name of a tool: providers accept up to 64 letters, digits, '_' and '-', "
                "beginning with a letter or '_'."
            )
        if not _is_text(self.description):
            raise RegistrationError(
                f"The description of the tool {self.name} is {self.description!r}; it must be a string."
            )
        if not self.description.strip():
            raise RegistrationError(f"The tool {self.name} has no description. Add a docstring or description=.")
        check_gate(self.gate)
        for option, kind in (("mode", Mode), ("logout", Logout), ("wake", Wake)):
            object.__setattr__(self, option, self._member(option, kind))
        if self.placement is not None:
            object.__setattr__(self, "placement", self._member("placement", Placement))
        self._check_queue()
        bare = self.mode is not Mode.HUMAN and self.timeout is None and self.total_timeout is None
        direct = self.handler.direct if bare and self.handler is not None and self.lifetime is None else None
        object.__setattr__(self, "direct", direct)
        mode = "" if self.mode is Mode.INLINE else f',"mode":"{self.mode.value}"'
        object.__setattr__(self, "label", f'"tool":"{self.name}"{mode}')
        if not self.topic:
            object.__setattr__(self, "topic", self.name.replace("_", " ").replace("-", " ").strip().capitalize())
        if self.examples:
            object.__setattr__(self, "examples", tuple(self._example(*each) for each in enumerate(self.examples, 1)))
        if self.resource is not None:
            check_resource(self.name, self.resource, self.input_schema)

    def _example(self, number: int, given: Mapping[str, Any]) -> Mapping[str, JSON]:
        """Return an example as JSON data. Raises `RegistrationError` for one that a call would refuse."""
        try:
            document = encode(given)
            self.arguments.parse(self.name, document)
        except ToolError as error:
            problems = [f"{each['path'] or 'arguments'}: {each['message']}" for each in error.details or ()]
            raise RegistrationError(
                f"Example {number} of the tool {self.name} does not fit its input: "
                f"{'; '.join(problems) or error.message}"
            ) from None
        return from_json(document)

    def _check_queue(self) -> None:
        if self.queue is None:
            return
        if not QUEUE_NAME.fullmatch(self.queue):
            raise RegistrationError(
                f"The tool {self.name} has queue={self.queue!r}. A queue has up to 64 lowercase letters, digits, '_' "
                "and '-'."
            )
        if self.placement is not None and self.placement is not Placement.WORKER:
            raise RegistrationError(
                f"The tool {self.name} has a queue and placement={self.placement.value!r}. Only workers have queues: "
                "remove one of the two."
            )

    def _member(self, option: str, kind: type[Mode | Logout | Wake | Placement]) -> Mode | Logout | Wake | Placement:
        value = getattr(self, option)
        try:
            return kind(value)
        except ValueError:
            hint = known_names(str(value), kind)
            raise RegistrationError(f"The tool {self.name} has {option}={value!r}. {hint}") from None

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
        """The type that Pydantic validates the input with."""
        return self.arguments.model

    @property
    def output_model(self) -> Any:
        """The type of the output; `Any` if none is declared."""
        return self.result.model

    @property
    def title(self) -> str:
        """The title for people."""
        return self.topic

    @property
    def prompt(self) -> str:
        """The text that the model reads: the description and the usage rule."""
        return f"{self.description}\n\n{self.usage}" if self.usage else self.description

    @property
    def input_schema(self) -> JSONSchema:
        """The cleaned schema of the arguments. It is shared: do not modify it."""
        if "input" not in self._cache:
            self._cache["input"] = _object(clean(self.arguments.schema()), self.arguments.closed)
        return self._cache["input"]

    @property
    def has_secrets(self) -> bool:
        """Whether a field of the input is secret and masked wherever people see it."""
        if self.secret is None:
            object.__setattr__(self, "secret", has_secrets(self.input_schema))
        return bool(self.secret)

    @property
    def output_schema(self) -> JSONSchema | None:
        """The cleaned schema of the result, or None if none is declared. It is shared: do not modify it."""
        if "output" not in self._cache:
            schema = self.result.schema()
            self._cache["output"] = None if schema is None else clean(schema, keep_null=True)
        return self._cache["output"]

    @property
    def has_schemas(self) -> bool:
        """Whether the input and output schemas are cached."""
        return "input" in self._cache and "output" in self._cache

    def shared_schema(self, name: str) -> JSONSchema:
        """Return the cached schema in a dialect. It is shared: do not modify it. Raises `SchemaError`."""
        if (made := self._cache.get(f"dialect:{name}")) is None:
            made = self._cache[f"dialect:{name}"] = dialect(name)(self)
        return made

    def schema(self, name: str = "claude") -> JSONSchema:
        """Return a copy of the schema in a dialect. Raises `SchemaError` for a type that it cannot express."""
        return copy.deepcopy(self.shared_schema(name))

    def render(self, value: JSON, channel: str | None = None) -> str:
        """Render a result as text for a channel.

        Without a renderer, or if it fails, a string stays as it is, content is described, and others become JSON.
        """
        renderer = self.renderers.get(channel) if channel is not None else None
        if renderer is not None and (text := self._rendered(renderer, value)) is not None:
            return text
        blocks = self.content(value)
        if blocks is None:
            return as_text(value)
        from ..content import describe

        return describe(blocks)

    def _rendered(self, renderer: Callable[[Any], str], value: JSON) -> str | None:
        """Return the text of a renderer, or None if it fails: the call has succeeded, and must be answered."""
        try:
            text: Any = renderer(value)
            if not isinstance(text, str):
                raise TypeError(f"it returned {type(text).__name__} instead of str")
        except Exception:
            log.exception("a renderer of %s failed; its result is rendered as without it", self.name)
            return None
        return text

    def content(self, value: JSON) -> "list[Block] | None":
        """Return the blocks of a result that is content, or None for any other result. See `callboard.content`."""
        blocks_of: Callable[[JSON], list[Block] | None] | None = self._cache.get("blocks_of")
        if blocks_of is None:
            blocks_of = self._cache["blocks_of"] = self._blocks_of()
        return blocks_of(value)

    def _blocks_of(self) -> "Callable[[JSON], list[Block] | None]":
        """Return the function that finds the blocks of a result."""
        from ..content import declared_blocks, is_content, undeclared_blocks  # with models, which take long to load

        if is_content(self.output_model):
            return declared_blocks
        return _no_blocks if self.output_schema else undeclared_blocks

    def serves(self, channel: str | None) -> bool:
        """Whether the tool may be used on a channel."""
        return channel is None or self.channels is None or channel in self.channels

    def with_(self, **changes: Any) -> Self:
        """Return a copy with some fields changed. Raises `RegistrationError` for an invalid value."""
        check_options(f"{self.name}.with_", changes, [each.name for each in fields(self) if each.init])
        options = {name: value for name, value in changes.items() if name in Policy.__optional_keys__}
        checked = policy(cast("Policy", options)) if options else {}
        return replace(self, **{name: checked.get(name, value) for name, value in changes.items()})

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the undecorated function."""
        if self.handler is None:
            raise TypeError(f"{self.name} cannot be called: a person gives its result")
        return self.handler.function(*args, **kwargs)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _no_blocks(_: JSON) -> None: ...


def as_text(value: JSON) -> str:
    """Render a result as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else to_json(value).decode()


def _object(schema: JSONSchema, closed: bool) -> JSONSchema:
    """Complete an input schema to the object form that every provider requires, also without properties."""
    made: JSONSchema = {"type": "object", "properties": {}, **schema}
    return {**made, "additionalProperties": False} if closed and "unevaluatedProperties" not in made else made
