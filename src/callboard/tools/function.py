"""`@tool`: a typed function, or a class that holds state, becomes a `Tool`."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from ..checks import Check
from ..errors import RegistrationError
from ..types import Mode
from .definition import Tool
from .docstrings import parse_docstring
from .handler import HandlerKind
from .options import Policy, check_options, policy

P = ParamSpec("P")
C = TypeVar("C")
R = TypeVar("R")

_check = Check(RegistrationError)


class Options(Policy, total=False):
    """Options of `@tool`."""

    name: str | None
    description: str | None
    answer: Any
    lax: bool
    """Whether to correct mistakes that models commonly make in arguments."""
    flatten: bool
    """Whether the fields of a model that is the only parameter are the arguments."""


class StatefulTool(Generic[P]):
    """A class decorated with `@tool`. Calling it makes an instance and returns a `Tool` that runs the instance.

    The class has an async (or sync) `__call__` and may be an async context manager, which is entered before the first
    call and left when the registry or the runtime closes.
    """

    def __init__(self, cls: Callable[P, Any], options: Options, scope: Mapping[str, Any]) -> None:
        self._cls = cls
        self._options = options
        self._scope = scope
        self.__doc__ = cls.__doc__
        self.__name__ = getattr(cls, "__name__", "")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Tool:
        instance = self._cls(*args, **kwargs)
        cls = cast(Any, type(instance))
        options = {
            "name": _snake(cls.__name__),
            "description": parse_docstring(cls.__doc__).description or None,
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
    """Make a `Tool` from a typed function (sync, async or async generator), or a `StatefulTool` from a class.

    Parameters become the input, the return annotation the output, the docstring the description. A parameter annotated
    `ToolContext` receives the context. Raises `RegistrationError` for a function that cannot become a tool.
    """
    check_options("@tool", options, Options.__optional_keys__)
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    scope = caller.f_locals if caller is not None else {}  # a postponed annotation may use names of this scope
    decorator: Any = _Decorator(options, scope)
    return decorator if function is None else decorator(function)


class _Decorator:
    """The decorator that `@tool(...)` with options returns."""

    def __init__(self, options: Options, scope: Mapping[str, Any]) -> None:
        self._options = options
        self._scope = scope

    @overload
    def __call__(self, function: type[C], /) -> StatefulTool[...]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]: ...
    def __call__(self, function: Any, /) -> Any:
        if isinstance(function, Tool):
            raise RegistrationError(
                f"{cast(Tool, function).name} is a tool already. Apply @tool once, with all options."
            )
        if not callable(function):
            hint = " Give options by name, as in @tool(name=…)." if isinstance(function, str) else ""
            raise RegistrationError(f"@tool decorates a function or a class, not {type(function).__name__}.{hint}")
        if isinstance(function, type):
            _check_class(function)
            return StatefulTool(function, self._options, self._scope)
        return _make(function, self._options, self._scope, origin=_origin(function))


def _make(function: Any, options: Options, scope: Mapping[str, Any], *, origin: str | None) -> Tool:
    from .signature import Signature  # with Pydantic's models, which only a process that makes a tool needs

    given, source = dict(options), _documented(function)
    name: Any = given.pop("name", None)
    if name is None:
        name = getattr(source, "__name__", type(source).__name__)
    description, answer = cast("str | None", given.pop("description", None)), cast(Any, given.pop("answer", None))
    lax, flatten = (cast("bool", given.pop(option, True)) for option in ("lax", "flatten"))
    _check.flag("lax", lax)
    _check.flag("flatten", flatten)
    documented = parse_docstring(getattr(source, "__doc__", None))
    signature = Signature(function, documented.parameters, name=name, scope=scope)
    if signature.kind is HandlerKind.STREAM:
        given.setdefault("mode", Mode.BACKGROUND)
    if answer is not None:
        given.setdefault("mode", Mode.HUMAN)
    if answer is not None and given["mode"] != Mode.HUMAN:
        raise RegistrationError(f"The tool {name} has answer=, which asks a person: its mode must be 'human'.")
    return Tool(
        name=name,
        description=description or documented.description,
        arguments=signature.arguments(lax=lax, flatten=flatten),
        result=signature.result() if answer is None else signature.answer(answer),
        handler=signature.handler(flatten=flatten) if answer is None else None,
        answer=answer,
        origin=origin,
        **policy(cast(Policy, given)),
    )


def _check_class(cls: type) -> None:
    """Raise `RegistrationError` for a class without `__call__`, or with a lifetime that would not be entered."""
    own = {name for base in cls.__mro__[:-1] for name in vars(base)}
    if "__call__" not in own:
        raise RegistrationError(f"The class {cls.__name__} needs a __call__ method to be a tool.")
    lifetime = {"__aenter__", "__aexit__"} & own
    if len(lifetime) == 1 or (not lifetime and "__enter__" in own):
        given = lifetime.pop() if lifetime else "__enter__"
        raise RegistrationError(
            f"The class {cls.__name__} has {given}, but the lifetime of a tool is async: write both "
            "`async def __aenter__(self)` and `async def __aexit__(self, *exc)`. "
            "Code that blocks runs there with `await anyio.to_thread.run_sync(…)`."
        )


def _documented(function: Any) -> Any:
    """Return the function inside partial applications, whose own name and docstring are those of `partial`."""
    source: Any = function
    while isinstance(source, partial) and "__doc__" not in vars(cast(Any, source)):
        source = cast("partial[Any]", source).func
    return cast(Any, source)


def _origin(function: Any) -> str | None:
    qualified = getattr(function, "__qualname__", None)
    return None if qualified is None else f"{function.__module__}:{qualified}"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
