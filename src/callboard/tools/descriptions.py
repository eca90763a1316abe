"""The search for input properties without a description.

It examines types, cached by class, instead of JSON schemas, which are generated on demand and cost far more.
"""

import dataclasses
import types
from collections.abc import Collection, Iterator
from enum import Enum
from functools import lru_cache
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from ..schemas.walk import children
from ..types import JSONSchema


def undescribed(annotation: Any, described_beside: Collection[str] = ()) -> tuple[str, ...]:
    """List the paths of the properties below a type that have no description."""
    if not is_typeddict(annotation):
        return _below_type(annotation)
    found: list[str] = []
    for name, inner, described in _find_fields(annotation):
        if not described and name not in described_beside:
            found.append(name)
        kind = get_args(inner)[0] if get_origin(inner) is Annotated else inner
        found += [f"{name}{path}" if path[0] in "[." else f"{name}.{path}" for path in _below_type(kind)]
    return tuple(found)


@lru_cache(maxsize=4096)
def _below_type(annotation: Any) -> tuple[str, ...]:
    return tuple(_within(annotation, "", ()))


def undescribed_in_schema(schema: JSONSchema) -> Iterator[str]:
    """Yield the paths of the properties of a cleaned JSON schema that have no description."""
    root = {key: value for key, value in schema.items() if key != "$defs"}
    yield from _below(root, "", cast("dict[str, JSONSchema]", schema.get("$defs", {})), set())


def _below(schema: JSONSchema, path: str, definitions: dict[str, JSONSchema], seen: set[str]) -> Iterator[str]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name in definitions and name not in seen:
        seen.add(name)
        yield from _below(definitions[name], path, definitions, seen)
    for step, child in children(schema):
        below = f"{path}{step}".lstrip(".")
        target = definitions.get(str(child.get("$ref", "")).rpartition("/")[2], {})
        if step.startswith(".") and step != ".*" and not (child.get("description") or target.get("description")):
            yield below
        yield from _below(child, below, definitions, seen)


def _within(annotation: Any, path: str, above: tuple[Any, ...]) -> Iterator[str]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _within(get_args(annotation)[0], path, above)
    elif hasattr(annotation, "__value__"):  # `type Name = …`, of the language or of typing_extensions
        yield from _within(_filled(annotation.__value__, _parameters(annotation)), path, above)
    elif hasattr(annotation, "__supertype__"):  # a `NewType`
        yield from _within(annotation.__supertype__, path, above)
    elif origin is Literal:
        return
    elif isinstance(annotation, type) and origin is None:
        if issubclass_safe(annotation, tuple):  # a `NamedTuple`, whose fields are positions
            for inner in get_type_hints(annotation, include_extras=True).values():
                yield from _within(inner, f"{path}[]", above)
        elif issubclass_safe(annotation, RootModel):  # its field is not a property
            root = cast("type[RootModel[Any]]", annotation).model_fields["root"].annotation
            yield from _within(root, path, (*above, annotation)) if annotation not in above else ()
        elif annotation not in above:
            yield from _within_fields(annotation, {}, path, (*above, annotation))
    elif isinstance(origin, type) and _fields(origin):  # a generic class, with its parameters filled in
        if annotation not in above:
            yield from _within_fields(origin, _parameters(annotation), path, (*above, annotation))
    elif origin is not None:
        step = "" if origin in (Union, types.UnionType) else ".*" if issubclass_safe(origin, dict) else "[]"
        for inner in get_args(annotation):
            yield from _within(inner, f"{path}{step}", above)


def _within_fields(cls: Any, parameters: dict[Any, Any], path: str, above: tuple[Any, ...]) -> Iterator[str]:
    for name, inner, described in _fields(cls):
        below = f"{path}.{name}".lstrip(".")
        filled = _filled(inner, parameters)
        if not (described or (filled is not inner and _described(filled))):
            yield below
        yield from _within(filled, below, above)


def _parameters(annotation: Any) -> dict[Any, Any]:
    """Return the types that a generic class or alias is filled in with, by its type variables."""
    origin = get_origin(annotation)
    return dict(zip(getattr(origin, "__parameters__", ()), get_args(annotation), strict=False))


def _filled(annotation: Any, parameters: dict[Any, Any]) -> Any:
    """Return an annotation with its type variables filled in."""
    if isinstance(annotation, TypeVar):
        return parameters.get(annotation, annotation)
    free: tuple[Any, ...] = () if isinstance(annotation, type) else getattr(annotation, "__parameters__", ())
    if not (parameters and free):
        return annotation
    return cast(Any, annotation)[tuple(parameters.get(each, each) for each in free)]


def issubclass_safe(value: Any, parent: type) -> bool:
    """Whether a value is a class and a subclass of `parent`."""
    return isinstance(value, type) and issubclass(value, parent)


def _find_fields(cls: Any) -> tuple[tuple[str, Any, bool], ...]:
    """List the properties of a class: name in the schema, type, and whether it has a description."""
    if issubclass_safe(cls, BaseModel):
        fields = cast("type[BaseModel]", cls).model_fields.items()
        return tuple(
            (f.alias or name, f.annotation, bool(f.description) or _described(f.annotation)) for name, f in fields
        )
    if is_typeddict(cls) or (dataclasses.is_dataclass(cls) and not issubclass_safe(cls, Enum)):
        hints = _hints(cls)
        names = hints if is_typeddict(cls) else [f.name for f in dataclasses.fields(cls)]
        infos: dict[str, Any] = getattr(cls, "__pydantic_fields__", {})
        return tuple(
            (name, hint, _annotated(hint) or _described(hint) or bool(getattr(infos.get(name), "description", None)))
            for name, hint in ((name, _bare(hints[name])) for name in names)
        )
    return ()


_fields = lru_cache(maxsize=4096)(_find_fields)


def _hints(cls: Any) -> dict[str, Any]:
    """Return the annotations of a class, with string annotations resolved."""
    own = cast("dict[str, Any]", getattr(cls, "__annotations__", {}))
    if is_typeddict(cls) and not any(isinstance(hint, str | ForwardRef) for hint in own.values()):
        return own
    return get_type_hints(cls, include_extras=True)


def _bare(annotation: Any) -> Any:
    """Strip `Required` and `NotRequired` from an annotation."""
    while get_origin(annotation) in (Required, NotRequired):
        annotation = get_args(annotation)[0]
    return annotation


def _annotated(annotation: Any) -> bool:
    """Whether an `Annotated` carries a description (a field in a typed dictionary or a dataclass)."""
    extras = getattr(annotation, "__metadata__", ())
    return any(isinstance(extra, FieldInfo) and extra.description for extra in cast("tuple[Any, ...]", extras))


def _described(annotation: Any) -> bool:
    """Whether the type describes itself: a model, dataclass or enum with a docstring, or an optional one."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [arg for arg in get_args(annotation) if arg is not type(None)]
        return len(inner) == 1 and _described(inner[0])
    if get_origin(annotation) is Annotated:
        return _described(get_args(annotation)[0])
    documented = issubclass_safe(annotation, BaseModel) or issubclass_safe(annotation, Enum)
    if documented or (isinstance(annotation, type) and dataclasses.is_dataclass(cast(Any, annotation))):
        own = annotation.__dict__.get("__doc__")
        return bool(own) and not own.startswith(f"{annotation.__name__}(")
    return False
