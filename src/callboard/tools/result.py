"""The output side of a tool: what a handler returned, checked against its promise and written as JSON once."""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaSerializer, from_json, to_json

from ..errors import ToolError
from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from ..jsonrules.readability import MAX_DIGITS, check_readability
from ..types import JSONSchema
from .problems import problems_of

_FLAT = 2 * MAX_DEPTH
"""A shorter text cannot have more levels: each needs two brackets."""


def as_text(value: Any) -> str:
    """A result as a model or a person reads it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else to_json(value).decode()


class Result:
    """Writes results. With `adapter` None anything that JSON can say is admitted; `schema` then is what is promised."""

    __slots__ = ("_adapter", "_declared", "_dump", "_exact", "_fits", "_open", "_serialize", "_validate", "model")

    def __init__(
        self,
        model: Any = Any,
        adapter: TypeAdapter[Any] | None = None,
        declared: JSONSchema | None = None,
        fits: Callable[[Any], bool] | None = None,
    ) -> None:
        self.model = model
        self._adapter = adapter
        self._declared = declared
        self._fits = fits
        """Whether JSON data is what `declared` promises."""
        self._validate = None if adapter is None else adapter.validator.validate_python
        serializer = None if adapter is None else adapter.serializer
        self._serialize = to_json
        traits = _OPEN if adapter is None else _traits_of(adapter)
        self._open = traits.open
        if isinstance(serializer, SchemaSerializer):  # by alias, as the schema says it
            self._serialize = partial(serializer.to_json, by_alias=True) if traits.aliased else serializer.to_json
        self._exact = model if _is_exact(model) and adapter is not None else None
        """The class whose instances need not be validated, because validation would give back the same."""
        self._dump = serializer.to_python if isinstance(serializer, SchemaSerializer) else None

    def write(self, tool: str, value: Any) -> bytes:
        """The value as JSON. Raises `ToolError` (execution) where it is not what the tool promises, or not JSON."""
        try:
            if value.__class__ is self._exact and (written := self._serialize(value)).find(b"null") < 0:
                if self._open or len(written) > MAX_DIGITS:
                    self._check(tool, written)
                return written
            if self._validate is not None:
                value = self._validate(value)
            written = self._serialize(value)
            if self._open or len(written) > MAX_DIGITS:
                self._check(tool, written)
            if self._dump is None:
                if self._fits is not None and not self._fits(from_json(written)):
                    raise _broken_promise(tool, "it does not fit the output schema")
            elif b"null" in written:  # which a type makes of NaN, without a word
                _check_finite(self._dump(value))
            return written
        except ValidationError as error:
            problems = "; ".join(f"{p['path'] or 'result'}: {p['message']}" for p in problems_of(error)[:5])
            raise _broken_promise(tool, problems) from error
        except (PydanticSerializationError, RecursionError, ValueError, TypeError) as error:
            raise ToolError(
                f"The tool {tool} failed: its result cannot be written as JSON.", report=f"{tool}: {error}"
            ) from error

    def _check(self, tool: str, written: bytes) -> None:
        if self._open and len(written) > _FLAT and exceeds_depth(written, MAX_DEPTH):
            raise _too_deep(tool)
        check_readability(written)

    def encode(self, value: Any) -> bytes:
        """A part of a result as JSON, whatever its type. Raises `ToolError` (execution) where it is not JSON."""
        try:
            written = to_json(value, inf_nan_mode="null")
            if exceeds_depth(written, MAX_DEPTH):
                raise ToolError("A partial result is nested too deeply.", report=_DEPTH)
            check_readability(written)
        except (PydanticSerializationError, RecursionError, ValueError) as error:
            raise ToolError("A partial result cannot be written as JSON.", report=str(error)) from error
        return written

    def data(self, tool: str, value: Any) -> Any:
        """The value as JSON data."""
        return from_json(self.write(tool, value))

    def schema(self) -> JSONSchema | None:
        """The JSON schema of the output, not yet cleaned; None where anything may come."""
        if self._adapter is None:
            return self._declared
        return self._adapter.json_schema(mode="serialization")


class _Traits(NamedTuple):
    """What a type says about everything that is written by it."""

    aliased: bool
    """A field of it is written under another name."""
    open: bool
    """It does not say how deep its values are (something in it may be anything, or contain itself), or lets numbers be
    written that are none, or keys that are not all of one kind. What is written by it is looked at."""


_OPEN = _Traits(aliased=False, open=True)
_SCALARS = {"str", "int", "bool", "none", "literal", "enum", "float", "decimal", "bytes", "uuid", "url"}
_TIMES = {"date", "datetime", "time", "timedelta"}
_RECORDS = {"model", "model-fields", "model-field", "typed-dict", "typed-dict-field"}
_CONTAINERS = {"list", "tuple", "set", "frozenset", "dict", "nullable", "default", "union", "tagged-union"}
_BOUNDED = frozenset({*_SCALARS, *_TIMES, *_RECORDS, *_CONTAINERS})


@lru_cache(maxsize=1024)
def _traits_of(adapter: TypeAdapter[Any]) -> _Traits:
    aliased, bounded, alike = False, True, True
    pending: list[Any] = [adapter.core_schema]
    for node in pending:  # it grows while it is walked
        if isinstance(node, dict):
            entry = cast("dict[str, Any]", node)
            kind = entry.get("type")
            aliased = aliased or "serialization_alias" in entry
            bounded = bounded and not (isinstance(kind, str) and kind not in _BOUNDED)
            bounded = bounded and "allow" not in (entry.get("extra_behavior"), entry.get("extra_fields_behavior"))
            bounded = bounded and entry.get("ser_json_inf_nan") != "constants"
            alike = alike and (kind != "dict" or entry.get("keys_schema", {}).get("type") in ("str", "int"))
            pending += [value for key, value in entry.items() if key not in ("default", "metadata")]
        elif isinstance(node, list | tuple):
            pending += cast("list[Any]", node)
    return _Traits(aliased, open=not (bounded and alike))


_DEPTH = f"the result is nested more than {MAX_DEPTH} levels deep"


def _too_deep(tool: str) -> ToolError:
    return ToolError(f"The tool {tool} failed: its result is nested too deeply.", report=f"{tool}: {_DEPTH}")


def _broken_promise(tool: str, problems: str) -> ToolError:
    return ToolError(
        f"The tool {tool} failed: it returned something other than what it promises.",
        report=f"{tool} returned a wrong type: {problems}",
    )


def _is_exact(model: Any) -> bool:
    if model in (int, str, bool):
        return True
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return False
    return "revalidate_instances" not in model.model_config and not model.__pydantic_decorators__.model_validators


def _check_finite(dumped: Any) -> None:
    """Raise `ValueError` for a number in plain data that JSON cannot say."""
    pending: list[Any] = [dumped]
    for value in pending:  # it grows while it is walked
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"the result contains {value}")
        if isinstance(value, dict):
            pending += cast("dict[Any, Any]", value).values()
        elif isinstance(value, list | tuple | set | frozenset):
            pending += cast("list[Any]", value)
