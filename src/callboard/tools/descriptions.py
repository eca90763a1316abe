"""Every property of every input has a description: which ones do not.

Types are looked at, not their JSON schemas, which are made only when somebody asks for them and cost far more. What has
been looked at once is remembered by class.
"""

import dataclasses
import types
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typing_extensions import TypeAliasType, is_typeddict

from ..schemas.walk import children
from ..types import JSONSchema


def undescribed(annotation: Any) -> tuple[str, ...]:
    """The paths of the properties below a type that say nothing about themselves."""
    return tuple(_within(annotation, "", ()))


def undescribed_in_schema(schema: JSONSchema, path: str = "") -> Iterator[str]:
    """The same for a cleaned JSON schema, which is all that a dynamic tool has."""
    for step, child in children({key: value for key, value in schema.items() if key != "$defs"}):
        below = f"{path}{step}".lstrip(".")
        if step.startswith(".") and step != ".*" and not child.get("description"):
            yield below
        yield from undescribed_in_schema(child, below)


def _within(annotation: Any, path: str, above: tuple[Any, ...]) -> Iterator[str]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _within(get_args(annotation)[0], path, above)
    elif isinstance(annotation, TypeAliasType):
        yield from _within(annotation.__value__, path, above)
    elif origin is Literal:
        return
    elif isinstance(annotation, type) and origin is None:
        if annotation not in above:
            for name, inner, described in _fields(annotation):
                below = f"{path}.{name}".lstrip(".")
                if not described:
                    yield below
                yield from _within(inner, below, (*above, annotation))
    elif origin is not None:
        step = "" if origin in (Union, types.UnionType) else ".*" if issubclass_safe(origin, dict) else "[]"
        for inner in get_args(annotation):
            yield from _within(inner, f"{path}{step}", above)


def issubclass_safe(value: Any, parent: type) -> bool:
    """`issubclass` for what may not be a class."""
    return isinstance(value, type) and issubclass(value, parent)


@lru_cache(maxsize=4096)
def _fields(cls: Any) -> tuple[tuple[str, Any, bool], ...]:
    """The properties of a class: name as it appears in the schema, type, whether it is described."""
    if issubclass_safe(cls, BaseModel):
        fields = cast("type[BaseModel]", cls).model_fields.items()
        return tuple(
            (f.alias or name, f.annotation, bool(f.description) or _described(f.annotation)) for name, f in fields
        )
    if is_typeddict(cls) or (dataclasses.is_dataclass(cls) and not issubclass_safe(cls, Enum)):
        hints = get_type_hints(cls, include_extras=True)
        names = hints if is_typeddict(cls) else [f.name for f in dataclasses.fields(cls)]
        return tuple((name, hints[name], _annotated(hints[name]) or _described(hints[name])) for name in names)
    return ()


def _annotated(annotation: Any) -> bool:
    """Whether an `Annotated` carries a description (a field in a typed dictionary or a dataclass)."""
    extras = getattr(annotation, "__metadata__", ())
    return any(isinstance(extra, FieldInfo) and extra.description for extra in cast("tuple[Any, ...]", extras))


def _described(annotation: Any) -> bool:
    """Whether the type speaks for itself: a model, dataclass or enum with a docstring, also where it is optional."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [arg for arg in get_args(annotation) if arg is not type(None)]
        return len(inner) == 1 and _described(inner[0])
    if get_origin(annotation) is Annotated:
        return _described(get_args(annotation)[0])
    speaks = issubclass_safe(annotation, BaseModel) or issubclass_safe(annotation, Enum)
    if speaks or (isinstance(annotation, type) and dataclasses.is_dataclass(cast(Any, annotation))):
        own = annotation.__dict__.get("__doc__")
        return bool(own) and not own.startswith(f"{annotation.__name__}(")
    return False
