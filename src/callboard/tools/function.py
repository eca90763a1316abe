"""`@tool`: a typed function, or a class that holds state, becomes a `Tool`."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, cast, overload

from ..errors import RegistrationError
from ..types import JSON, Logout, Mode, Wake
from .definition import Tool
from .docstrings import documentation
from .gates import Gate
from .handler import HandlerKind
from .policies import BreakerPolicy, RetryPolicy
from .signature import Signature

P = ParamSpec("P")
C = TypeVar("C")
R = TypeVar("R")


class Policy(TypedDict, total=False):
    """What can be said of any tool, however it is made. `Tool` explains each."""

    namespace: str
    mode: Mode | str
    topic: str | None
    group: str | None
    tags: Iterable[str]
    channels: Iterable[str] | None
    gate: Gate | None
    idempotent: bool
    timeout: float | None
    total_timeout: float | None
    inline_budget: float
    retry: RetryPolicy | None
    breaker: BreakerPolicy | None
    concurrency: int | None
    estimated_duration: float | None
    usage: str | None
    examples: Iterable[Mapping[str, JSON]]
    result_limit: int | None
    renderers: Mapping[str, Callable[[Any], str]] | None
    logout: Logout | str
    wake: Wake | str
    asks: str
    expires: float | None


class Options(Policy, total=False):
    """What `@tool` takes."""

    name: str | None
    description: str | None
    answer: Any
    lax: bool
    flatten: bool


def policy(given: Policy) -> dict[str, Any]:
    """The given options as fields of a `Tool`. Raises `RegistrationError` for a value that makes no sense."""
    made: dict[str, Any] = dict(given)
    try:
        made["mode"] = Mode(given.get("mode", Mode.INLINE))
        made["logout"] = Logout(given.get("logout", Logout.FINISH_FIRST))
        made["wake"] = Wake(given.get("wake", Wake.WAKE))
    except ValueError as error:
        raise RegistrationError(f"{error}. Values: {', '.join([*Mode, *Logout, *Wake])}.") from None
    if (asks := given.get("asks", "human_request")) not in ("human_request", "wallet_tx_request"):
        raise RegistrationError(f"asks is {asks!r}; it is 'human_request' or 'wallet_tx_request'.")
    for name in ("tags", "channels"):
        if isinstance(made.get(name), str):
            raise RegistrationError(f"{name} is the text {made[name]!r}; a list of texts is wanted.")
    made["tags"] = tuple(given.get("tags", ()))
    made["examples"] = tuple(given.get("examples", ()))
    made["topic"] = given.get("topic") or ""
    channels = given.get("channels")
    made["channels"] = None if channels is None else frozenset(channels)
    made["renderers"] = MappingProxyType(dict(given.get("renderers") or {}))
    for name in (
        "timeout",
        "total_timeout",
        "inline_budget",
        "estimated_duration",
        "result_limit",
        "concurrency",
        "expires",
    ):
        if (value := made.get(name)) is not None and value <= 0:
            raise RegistrationError(f"{name} is {value}; it must be above 0.")
    return made


class StatefulTool(Generic[P]):
    """A class decorated with `@tool`. Calling it makes an instance, and of that a `Tool` with the instance's lifetime.

    The class has an async (or sync) `__call__` and may be an async context manager, which is entered before the first
    call and left when the registry or the runtime closes.
    """

    def __init__(self, cls: Callable[P, Any], options: Options, scope: Mapping[str, Any]) -> None:
        self._cls = cls
        self._options = options
        self._scope = scope
        self.__doc__ = cls.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Tool:
        instance = self._cls(*args, **kwargs)
        cls = cast(Any, type(instance))
        options = {
            "name": _snake(cls.__name__),
            "description": documentation(cls.__doc__).description or None,
            **self._options,
        }
        made = _make(instance.__call__, cast(Options, options), self._scope, origin=None)
        return made.with_(lifetime=instance) if hasattr(instance, "__aenter__") else made


@overload
def tool(function: type[C], /) -> StatefulTool[...]: ...  # pyright: ignore[reportOverlappingOverload]
@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(**options: Unpack[Options]) -> "_Decorator": ...
def tool(function: Any = None, /, **options: Unpack[Options]) -> Any:
    """Make a `Tool` of a typed function (sync, async or async generator), or a `StatefulTool` of a class.

    Parameters become the input, the return annotation the output, the docstring the description. A parameter annotated
    `ToolContext` receives the context. Raises `RegistrationError` for a function that cannot become a tool.
    """
    scope = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]  # names that a postponed annotation may use inside a function
    decorator: Any = _Decorator(options, scope)
    return decorator if function is None else decorator(function)


class _Decorator:
    """`@tool(...)`, waiting for what it decorates."""

    def __init__(self, options: Options, scope: Mapping[str, Any]) -> None:
        self._options = options
        self._scope = scope

    @overload
    def __call__(self, function: type[C], /) -> StatefulTool[...]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]: ...
    def __call__(self, function: Any, /) -> Any:
        if isinstance(function, type):
            if "__call__" not in {name for base in function.__mro__[:-1] for name in vars(base)}:
                raise RegistrationError(f"The class {function.__name__} needs a __call__ method to be a tool.")
            return StatefulTool(function, self._options, self._scope)
        return _make(function, self._options, self._scope, origin=_origin(function))


def _make(function: Any, options: Options, scope: Mapping[str, Any], *, origin: str | None) -> Tool:
    if not callable(function):
        raise RegistrationError(f"@tool decorates a function or a class, not {type(function).__name__}.")
    given = dict(options)
    name = str(given.pop("name", None) or getattr(function, "__name__", type(function).__name__))
    description, answer = cast("str | None", given.pop("description", None)), cast(Any, given.pop("answer", None))
    lax, flatten = bool(given.pop("lax", True)), bool(given.pop("flatten", True))
    documented = documentation(getattr(function, "__doc__", None))
    signature = Signature(function, documented.parameters, name=name, scope=scope)
    if signature.kind is HandlerKind.STREAM:
        given.setdefault("mode", Mode.BACKGROUND)
    if answer is not None:
        given.setdefault("mode", Mode.HUMAN)
    fields = policy(cast(Policy, given))
    if answer is not None and fields["mode"] is not Mode.HUMAN:
        raise RegistrationError(f"The tool {name} has answer=, which asks a person, so its mode is 'human'.")
    return Tool(
        name=name,
        description=description or documented.description,
        arguments=signature.arguments(lax=lax, flatten=flatten),
        result=signature.result() if answer is None else signature.adapted(answer),
        handler=signature.handler(flatten=flatten) if answer is None else None,
        answer=answer,
        origin=origin,
        **fields,
    )


def _origin(function: Any) -> str | None:
    qualified = getattr(function, "__qualname__", None)
    return None if qualified is None else f"{function.__module__}:{qualified}"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
