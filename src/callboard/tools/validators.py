"""Validators of a core schema that was changed: to forbid undeclared properties, or to apply the JSON rules.

The strict validator applies the JSON rules to the whole document, whatever its types allow. Numbers must be finite
despite a model's settings. JSON text inside the document, which the type `Json` decodes, must follow the same rules.
Dates and times must be texts in ISO 8601: Pydantic reads a number, and a text of digits such as 20260901, as a Unix
time, which is silently another date. An `Iterable` is a list, since Pydantic would check its items in the handler. A
flag is one of the combinations that its schema lists.
"""

from collections.abc import Callable
from typing import Any, cast

from pydantic_core import CoreSchema, PydanticCustomError, SchemaValidator, from_json, to_json
from pydantic_core.core_schema import no_info_before_validator_function

from ..errors import ToolError
from ..jsonrules.duplicate_keys import check_keys_and_numbers
from .flags import combination_reader, is_flag


def strict_validator(schema: CoreSchema, *, lax: bool) -> SchemaValidator:
    """Make the strict validator of a core schema. With `lax`, Pydantic's lax mode still applies."""
    return exact_validator(_strict(schema, lax))


def exact_validator(schema: CoreSchema) -> SchemaValidator:
    """Make a validator of exactly this core schema.

    By default a `SchemaValidator` uses, for each model in the schema, the validator that the model was built with: it
    admits properties that the schema forbids. The documented arguments have no way to prevent that.
    """
    return SchemaValidator(schema, _use_prebuilt=False)


def _strict(node: Any, lax: bool) -> Any:
    if node.__class__ is list:
        return [_strict(each, lax) for each in cast("list[Any]", node)]
    if node.__class__ is tuple:  # a branch of a union, and its name
        return tuple(_strict(each, lax) for each in cast("tuple[Any, ...]", node))
    if node.__class__ is not dict:
        return node
    entry = cast("dict[str, Any]", node)
    kind = entry.get("type")
    if not isinstance(kind, str):  # schemas by name, where a property may be called `type` or `default`
        return {name: _strict(each, lax) for name, each in entry.items()}
    made: Any = {key: value if key in _VALUES else _strict(value, lax) for key, value in entry.items()}
    if kind == "float":
        return {**made, "allow_inf_nan": False}
    if kind == "generator":  # Pydantic checks its items only when the handler takes them
        return {**made, "type": "list"}
    if kind == "json":
        return _before(_check_json_text, made)
    if is_flag(entry):
        return _before(combination_reader(entry["cls"], lax=lax), made)
    if kind in _TIMES:
        return _before(_time_reader(SchemaValidator(made), lax, _TIMES[kind]), made)
    if kind == "union":
        made["choices"] = [_named(*each) for each in zip(entry["choices"], made["choices"], strict=True)]
    return made


def _named(given: Any, made: Any) -> Any:
    """Name a branch of a union by its type, since errors would otherwise name the function before it."""
    is_checked = isinstance(given, dict) and made["type"] == "function-before" != given["type"]
    return (made, given["type"]) if is_checked else made


def _before(check: Callable[[Any], Any], schema: Any) -> CoreSchema:
    """Call a function before a schema, which other parts may refer to: they then refer to the function."""
    return no_info_before_validator_function(check, schema, ref=schema.pop("ref", None))


def _check_json_text(text: Any) -> Any:
    data = text.encode() if isinstance(text, str) else text
    if isinstance(data, bytes | bytearray):
        try:
            from_json(data)
        except ValueError:  # the validator of the type has a better message
            return text
        try:
            check_keys_and_numbers(bytes(data))
        except ToolError as error:
            raise PydanticCustomError("json_text", "{reason}", {"reason": error.message}) from error
    return text


def _time_reader(validator: SchemaValidator, lax: bool, expected: str) -> Callable[[Any], Any]:
    def read_time(given: Any) -> Any:
        if isinstance(given, int | float) or (isinstance(given, str) and _is_number(given)):
            raise PydanticCustomError("iso_8601", "Input should be {expected}", {"expected": expected})
        # A text is read here: a function's return value is not JSON, and a strict type does not accept a string for it.
        return (
            validator.validate_json(to_json(given), strict=None if lax else True) if isinstance(given, str) else given
        )

    return read_time


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_VALUES = frozenset({"default", "expected", "members", "metadata", "serialization"})
"""Keys of a core schema under which nothing is a schema of the input."""
_TIMES = {
    "datetime": "a date and time such as '2026-09-01T14:30:00Z'",
    "date": "a date such as '2026-09-01'",
    "time": "a time such as '14:30:00'",
}
"""Descriptions of the expected values, by the kind of the core schema."""
CHECKED_KINDS = frozenset({"float", "generator", "json", *_TIMES})
"""The kinds of core schemas that admit more than the JSON rules or check later, and so need a strict validator."""
