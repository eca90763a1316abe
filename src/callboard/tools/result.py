"""Results of a tool: validated against the declared type and encoded as JSON once."""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaSerializer, to_json

from ..errors import ErrorCategory, ToolError
from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from ..jsonrules.readability import MAX_DIGITS, check_readability
from ..types import JSONSchema
from .flags import FlagSchema
from .problems import problems_of

_FLAT = 2 * MAX_DEPTH
"""A shorter text cannot have more levels, since each needs two brackets."""


class Result:
    """Encodes results. Without an `adapter`, any JSON value is valid, unless `declared` restricts it."""

    __slots__ = (
        "_adapter",
        "_declared",
        "_dump",
        "_exact",
        "_is_valid",
        "_serialize",
        "_unbounded",
        "_validate",
        "model",
    )

    def __init__(
        self,
        model: Any = Any,
        adapter: TypeAdapter[Any] | None = None,
        declared: JSONSchema | None = None,
        is_valid: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.model = model
        self._adapter = adapter
        self._declared = declared
        self._is_valid = is_valid
        """Validates JSON text against `declared`."""
        self._validate = None if adapter is None else adapter.validator.validate_python
        serializer = None if adapter is None else adapter.serializer
        self._serialize = to_json
        traits = _UNBOUNDED if adapter is None else _traits_of(adapter)
        self._unbounded = traits.unbounded
        if isinstance(serializer, SchemaSerializer):  # by alias, like the schema
            self._serialize = partial(serializer.to_json, by_alias=True) if traits.aliased else serializer.to_json
        self._exact = model if _is_exact(model) and adapter is not None else None
        """The class whose instances need no validation, because it would return them unchanged."""
        self._dump = serializer.to_python if isinstance(serializer, SchemaSerializer) else None

    def write(self, tool: str, value: Any) -> bytes:
        """Encode a value as JSON. Raises `ToolError` (execution) for a wrong type or a value that is not JSON."""
        try:
            if value.__class__ is self._exact and (written := self._serialize(value)).find(b"null") < 0:
                if self._unbounded or len(written) > MAX_DIGITS:
                    self._check(tool, written)
                return written
            if self._validate is not None:
                value = self._validate(value)
            written = self._serialize(value)
            if self._unbounded or len(written) > MAX_DIGITS:
                self._check(tool, written)
            if self._dump is None:
                if self._is_valid is not None and not self._is_valid(written):
                    raise _wrong_type(tool, "it does not fit the output schema")
            elif b"null" in written:  # may stand for NaN
                _check_finite(self._dump(value))
            return written
        except ValidationError as error:
            problems = "; ".join(f"{p['path'] or 'result'}: {p['message']}" for p in problems_of(error)[:5])
            raise _wrong_type(tool, problems) from error
        except (PydanticSerializationError, RecursionError, ValueError, TypeError) as error:
            raise ToolError(
                f"The tool {tool} failed: its result cannot be written as JSON.", report=f"{tool}: {error}"
            ) from error

    def _check(self, tool: str, written: bytes) -> None:
        if self._unbounded and len(written) > _FLAT and exceeds_depth(written, MAX_DEPTH):
            raise ToolError(f"The tool {tool} failed: its result is nested too deeply.", report=f"{tool}: {_DEPTH}")
        check_readability(written)

    def encode(self, value: Any) -> bytes:
        """Encode a partial result of any type as JSON. Raises `ToolError` (execution) for a value that is not JSON."""
        try:
            written = to_json(value, inf_nan_mode="null")
            if exceeds_depth(written, MAX_DEPTH):
                raise ToolError("A partial result is nested too deeply.", report=_DEPTH)
            check_readability(written)
        except (PydanticSerializationError, RecursionError, ValueError) as error:
            raise ToolError("A partial result cannot be written as JSON.", report=str(error)) from error
        return written

    def schema(self) -> JSONSchema | None:
        """Return the JSON schema of the output, not yet cleaned, or None if none is declared."""
        if self._adapter is None:
            return self._declared
        return self._adapter.json_schema(mode="serialization", schema_generator=FlagSchema)


def too_large(what: str, size: int, limit: int) -> ToolError:
    """Make the error for a result, or a report of a handler, over the size limit. The handler ran, at least in part."""
    return ToolError(
        f"{what} is too large: {size:,} bytes, and the limit is {limit:,}. What the tool did until then stands. It has "
        "to return less, or store the data elsewhere and return where it is.",
        category=ErrorCategory.RESOURCE,
        retryable=False,
        report=f"{what}: {size:,} bytes; max_result_bytes is {limit:,}",
    )


class _Traits(NamedTuple):
    """Properties of a type that decide how its values are encoded and checked."""

    aliased: bool
    """A field has a serialization alias."""
    unbounded: bool
    """The type bounds neither the depth of its values (a part is untyped or recursive), nor excludes infinite numbers
    and keys of mixed types. Its encoded values must be checked."""


_UNBOUNDED = _Traits(aliased=False, unbounded=True)
_SCALARS = {"str", "int", "bool", "none", "literal", "enum", "float", "decimal", "bytes", "uuid", "url"}
_TIMES = {"date", "datetime", "time", "timedelta"}
_RECORDS = {"model", "model-fields", "model-field", "typed-dict", "typed-dict-field"}
_CONTAINERS = {"list", "tuple", "set", "frozenset", "dict", "nullable", "default", "union", "tagged-union"}
_BOUNDED = frozenset({*_SCALARS, *_TIMES, *_RECORDS, *_CONTAINERS})


@lru_cache(maxsize=1024)
def _traits_of(adapter: TypeAdapter[Any]) -> _Traits:
    aliased, bounded, uniform = False, True, True
    pending: list[Any] = [adapter.core_schema]
    for node in pending:  # grows during the walk
        if isinstance(node, dict):
            entry = cast("dict[str, Any]", node)
            kind = entry.get("type")
            aliased = aliased or "serialization_alias" in entry
            bounded = bounded and not (isinstance(kind, str) and kind not in _BOUNDED)
            bounded = bounded and "allow" not in (entry.get("extra_behavior"), entry.get("extra_fields_behavior"))
            bounded = bounded and entry.get("ser_json_inf_nan") != "constants"
            uniform = uniform and (kind != "dict" or entry.get("keys_schema", {}).get("type") in ("str", "int"))
            pending += [value for key, value in entry.items() if key not in ("default", "metadata")]
        elif isinstance(node, list | tuple):
            pending += cast("list[Any]", node)
    return _Traits(aliased, unbounded=not (bounded and uniform))


_DEPTH = f"the result is nested more than {MAX_DEPTH} levels deep"


def _wrong_type(tool: str, problems: str) -> ToolError:
    return ToolError(
        f"The tool {tool} failed: its result does not match its declared type.",
        report=f"{tool} returned a wrong type: {problems}",
    )


def _is_exact(model: Any) -> bool:
    if model in (int, str, bool):
        return True
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return False
    return "revalidate_instances" not in model.model_config and not model.__pydantic_decorators__.model_validators


def _check_finite(dumped: Any) -> None:
    """Raise `ValueError` for a number in plain data that is not finite."""
    pending: list[Any] = [dumped]
    for value in pending:  # grows during the walk
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"the result contains {value}")
        if isinstance(value, dict):
            pending += cast("dict[Any, Any]", value).values()
        elif isinstance(value, list | tuple | set | frozenset):
            pending += cast("list[Any]", value)
