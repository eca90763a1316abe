"""The signature of a function: its input type, its output type and its handler."""

import inspect
import types
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Container, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any, Literal, TypeAlias, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, PydanticUserError, RootModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, SchemaError
from typing_extensions import TypedDict

from ..errors import RegistrationError
from .context import ToolContext
from .defaults import check_defaults
from .flags import FlagSchema, TooManyCombinations, is_flag
from .handler import Handler, HandlerKind
from .result import Result
from .typed_arguments import TypedArguments
from .validators import strict_validator

_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
_SchemaMode: TypeAlias = Literal["validation", "serialization"]
_WITHOUT_SCHEMA = ("is-instance", "callable", "function-plain")
"""Core schemas that have no JSON schema, unless a type adds one."""
_NODES = (dict, list, tuple)
_NOT_IN_JSON = ("default", "metadata", "serialization", "python_schema")
"""Keys of a core schema under which nothing describes JSON."""
_STREAMS = (AsyncGenerator, AsyncIterator, AsyncIterable)


class Signature:
    """The parsed signature of a function: parameters with types and descriptions, context parameter, return type."""

    def __init__(
        self,
        function: Callable[..., Any],
        described: Mapping[str, str],
        *,
        name: str,
        scope: Mapping[str, Any] | None = None,
    ) -> None:
        self._function = function
        self._name = name
        hints = self._hints(scope or {})
        self.returns = hints.get("return", Any)
        self.context: str | None = None
        self.fields: dict[str, Any] = {}
        self.descriptions: dict[str, str] = {}
        """Descriptions given as plain strings beside the types, where Pydantic does not read them."""
        for parameter in _open_parameters(function):
            annotation = hints.get(parameter.name, inspect.Parameter.empty)
            if _is_context(annotation):
                if self.context is not None:
                    raise RegistrationError(f"The tool {name} has two parameters for the context. Remove one.")
                self.context = parameter.name
            else:
                self.fields[parameter.name] = self._field(parameter, annotation, described.get(parameter.name))

    @cached_property
    def kind(self) -> HandlerKind:
        """The kind of the function, or of the function that it wraps. Raises `RegistrationError` for a generator."""
        if inspect.isgeneratorfunction(_innermost(self._function)):
            raise RegistrationError(
                f"The tool {self._name} is a generator, whose code would block the event loop. Make it an async "
                "generator, whose values are partial results, or return a list."
            )
        for function in (self._function, inspect.unwrap(self._function)):  # an async wrapper may wrap a sync function
            if inspect.isasyncgenfunction(_innermost(function)):
                return HandlerKind.STREAM
            if inspect.iscoroutinefunction(_innermost(function)):
                return HandlerKind.ASYNC
        return HandlerKind.SYNC

    def handler(self, *, flatten: bool) -> Handler:
        """Make the handler for the input that `arguments` returns."""
        single = self._single_model() if flatten else None
        return Handler(self._function, self.kind, context=self.context, parameter=single[0] if single else None)

    def arguments(self, *, lax: bool, flatten: bool) -> TypedArguments:
        """Make the arguments. With `flatten`, the model of a single Pydantic parameter becomes the whole input."""
        if flatten and (single := self._single_model()):
            model = single[1]
            closed = "extra" not in model.model_config
            source = Annotated[model, _ForbidExtra()] if closed else model
            closed = closed or model.model_config.get("extra") == "forbid"
            return TypedArguments(model, self._adapter(source), lax=lax, closed=closed)
        model = cast("type[Any]", TypedDict(f"{self._name}_arguments", self.fields))  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues]
        model.__pydantic_config__ = _CONFIG
        adapter = self._adapter(model)
        check_defaults(self._name, adapter.core_schema)
        return TypedArguments(model, adapter, lax=lax, descriptions=self.descriptions)

    def result(self) -> Result:
        """Make the result of the return type, or of the type that a generator yields."""
        returns = self.returns
        if get_origin(returns) in _STREAMS or returns in _STREAMS:
            returns = next(iter(get_args(returns)), Any)
        return Result() if returns in (Any, object) else self.result_of_type(returns)

    def result_of_type(self, kind: Any) -> Result:
        """Make a result of a type. Raises `RegistrationError` for an unsupported type."""
        try:
            return Result(kind, _cached_adapter(kind))
        except Exception:  # the type is not hashable, or not supported, which the next line reports
            return Result(kind, self._adapter(kind, "serialization"))

    def answer(self, kind: Any) -> Result:
        """Make the result of a human tool from the type of its answers, which are validated like arguments."""
        result = self.result_of_type(kind)
        self._adapter(kind)
        return result

    def _hints(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        function = _innermost(inspect.unwrap(self._function))
        # A function defined inside another may use its local names; otherwise names of its module come first.
        own = {} if "<locals>" in getattr(function, "__qualname__", "") else getattr(function, "__globals__", {})
        try:
            names = {name: value for name, value in scope.items() if name not in own}
            return inspect.get_annotations(function, eval_str=True, locals=names)
        except (NameError, SyntaxError, TypeError, AttributeError) as error:
            raise RegistrationError(f"An annotation of the tool {self._name} cannot be resolved: {error}") from error

    def _field(self, parameter: inspect.Parameter, annotation: Any, described: str | None) -> Any:
        where = f"The parameter {parameter.name!r} of the tool {self._name}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise RegistrationError(f"{where} accepts any number of arguments. Declare each argument by name.")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise RegistrationError(f"{where} is positional-only, but arguments are passed by name.")
        if annotation is parameter.empty:
            raise RegistrationError(f"{where} has no type. {_advice(parameter.name, self._name)}")
        extras: list[Any] = list(getattr(annotation, "__metadata__", ()))
        kind = get_args(annotation)[0] if extras else annotation
        if isinstance(parameter.default, FieldInfo):
            extras.append(parameter.default)
        elif parameter.default is not parameter.empty:
            extras.append(Field(default=parameter.default))
        elif _admits_none(kind):
            extras.append(Field(default=None))
        texts = [extra for extra in extras if isinstance(extra, str) and extra.strip()]
        if len(texts) == len(extras) and (texts or described):  # unchanged, since building an annotation is slow
            self.descriptions[parameter.name] = texts[0] if texts else str(described)
            return annotation
        if not any(isinstance(extra, FieldInfo) and extra.description for extra in extras) and (texts or described):
            extras.append(Field(description=texts[0] if texts else described))
        extras = [extra for extra in extras if not isinstance(extra, str)]
        return Annotated[kind, *extras] if extras else kind

    def _single_model(self) -> tuple[str, type[BaseModel]] | None:
        if len(self.fields) != 1:
            return None
        ((name, annotation),) = self.fields.items()
        infos = [extra for extra in getattr(annotation, "__metadata__", ()) if isinstance(extra, FieldInfo)]
        model = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)) or issubclass(model, RootModel):
            return None
        return (name, model) if all(info.is_required() for info in infos) else None

    def _unusable(self, mode: _SchemaMode) -> str:
        """Name the parameter whose type cannot be used."""
        if mode == "serialization":
            return "The type of the result"
        for name, annotation in self.fields.items():
            try:
                _built(annotation, mode)
            except _UNUSABLE:
                return f"The type of the parameter {name!r}"
        return "A type"

    def _adapter(self, source: Any, mode: _SchemaMode = "validation") -> TypeAdapter[Any]:
        try:
            return _built(source, mode)
        except _UNUSABLE as error:
            other = "a Pydantic model"
            if isinstance(error, PydanticInvalidForJsonSchema):
                other = "add pydantic.WithJsonSchema to its annotation"
            elif isinstance(error, _UnreadableLiteral):
                other = "derive the enum from str, as in class Color(StrEnum)"
            elif isinstance(error, TooManyCombinations):
                other = "a list of the members of an Enum"
            raise RegistrationError(
                f"{self._unusable(mode)} of the tool {self._name} cannot be used: {_reason(error)}. Use a type that "
                f"JSON can represent, or {other}."
            ) from error


class _UnreadableLiteral(TypeError):
    """A `Literal` has a value that Pydantic never reads from JSON, such as the member of a plain enum."""


_UNUSABLE = (
    PydanticInvalidForJsonSchema,
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    SchemaError,
    TypeError,
)
"""Errors of Pydantic about a type."""


def _reason(error: Exception) -> str:
    """Return the reason of an error of Pydantic, without advice about models and links."""
    text = error.message if isinstance(error, PydanticUserError) else str(error)
    return text.partition(" Set `arbitrary_types_allowed")[0].partition("\n")[0].rstrip(".:")


def _advice(parameter: str, tool: str) -> str:
    if parameter in ("self", "cls"):
        return f"A method becomes a tool when it is bound, as in tool(instance.{tool}). @tool also decorates classes."
    if parameter in ("ctx", "context"):
        return f"Annotate it: {parameter}: ToolContext."
    return f'Annotate it, such as {parameter}: Annotated[str, "What it is"].'


def readable_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function. Raises `RegistrationError` if Python cannot read it."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise RegistrationError(
            f"The parameters of {function!r} cannot be read. Write a function with types that calls it."
        ) from error


def _open_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function, without those that a partial application gives by name."""
    given: set[str] = set()
    inner: Any = function
    while isinstance(inner, partial):
        given.update(inner.keywords)
        inner = cast("partial[Any]", inner).func
    return [each for each in readable_signature(function).parameters.values() if each.name not in given]


def _innermost(function: Any) -> Any:
    """Return the function inside partial applications, or the `__call__` of an object."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return function if inspect.isroutine(function) else type(function).__call__


@lru_cache(maxsize=1024)
def _cached_adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the adapter of an output type. Many tools share the same few types."""
    return _built(kind, "serialization")


def _built(source: Any, mode: _SchemaMode) -> TypeAdapter[Any]:
    """Build an adapter. Raises an error of Pydantic if a type is not supported, or has no JSON schema."""
    adapter: TypeAdapter[Any] = TypeAdapter(source)
    adapter.rebuild()  # raises now if a type is not defined yet
    if _may_lack_schema(adapter.core_schema):
        adapter.json_schema(mode=mode, schema_generator=FlagSchema)
    if mode == "validation":
        _check_readable(adapter.core_schema)
        if adapter.core_schema["type"] == "definitions":
            strict_validator(adapter.core_schema, lax=True)  # raises now instead of at the first call
    return adapter


def _may_lack_schema(schema: CoreSchema) -> bool:
    """Whether a part of a type may have no JSON schema. Making the schema of every type would be slow."""
    return any(entry.get("type") in _WITHOUT_SCHEMA or is_flag(entry) for entry in _parts(schema))


def _check_readable(schema: CoreSchema) -> None:
    for entry in _parts(schema, without=("function-before", "function-wrap")):  # a function may give the value
        if entry.get("type") == "is-subclass":
            raise TypeError("a class cannot be read from JSON")
        if entry.get("type") == "literal":
            for value in entry["expected"]:
                if not isinstance(value, str | int | float | None):
                    raise _UnreadableLiteral(f"Pydantic does not read {value!r} of a Literal from JSON")


def _parts(schema: CoreSchema, without: Container[Any] = ()) -> Iterator[dict[str, Any]]:
    """Yield the parts of a core schema that may describe JSON, except those of some types and what is inside them."""
    pending: list[Any] = [schema]
    for node in pending:  # grows during the walk
        if isinstance(node, dict):
            entry = cast("dict[str, Any]", node)
            if without and entry.get("type") in without:
                continue
            yield entry
            pending += [each for key, each in entry.items() if each.__class__ in _NODES and key not in _NOT_IN_JSON]
        else:
            pending += [each for each in node if each.__class__ in _NODES]


class _ForbidExtra:
    """Forbids undeclared properties at the top level of a user's model. Nested models keep their own setting."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        top = current = cast("dict[str, Any]", dict(handler.resolve_ref_schema(handler(source))))
        while current["type"] != "model-fields":
            if "schema" not in current:
                return handler(source)
            current.pop("ref", None)
            current["schema"] = current = dict(current["schema"])
        current["extra_behavior"] = "forbid"
        return cast(CoreSchema, top)


def _is_context(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        return ToolContext in get_args(annotation)
    return annotation is ToolContext


def _admits_none(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)


def dynamic_parameters(function: Callable[..., Any]) -> tuple[str | None, str]:
    """Return the names of a dynamic handler's parameters: for the context, or None, and for the arguments."""
    names = [each.name for each in _open_parameters(function)]
    try:
        hints = inspect.get_annotations(inspect.unwrap(function), eval_str=True)
    except (NameError, TypeError):
        hints = {}
    context = next((name for name in names if _is_context(hints.get(name))), None)
    rest = [name for name in names if name != context]
    if len(rest) != 1:
        raise RegistrationError(
            "The handler of a dynamic tool must take the arguments as one dict, and optionally a ToolContext."
        )
    return context, rest[0]
