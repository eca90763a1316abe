"""Validators of a core schema that was changed: to forbid undeclared properties, or to apply the JSON rules.

The strict validator applies the JSON rules to the whole document, whatever its types allow. Numbers must be finite
despite a model's settings. JSON text inside the document, which the type `Json` decodes, must follow the same rules.
"""

from typing import Any, cast

from pydantic_core import CoreSchema, PydanticCustomError, SchemaValidator, from_json
from pydantic_core.core_schema import no_info_before_validator_function

from ..errors import ToolError
from ..jsonrules.duplicate_keys import check_keys_and_numbers


def strict_validator(schema: CoreSchema) -> SchemaValidator:
    """Make the strict validator of a core schema."""
    return exact_validator(_strict(schema))


def exact_validator(schema: CoreSchema) -> SchemaValidator:
    """Make a validator of exactly this core schema.

    By default a `SchemaValidator` uses, for each model in the schema, the validator that the model was built with: it
    admits properties that the schema forbids. The documented arguments have no way to prevent that.
    """
    return SchemaValidator(schema, _use_prebuilt=False)


def _strict(node: Any) -> Any:
    if isinstance(node, list | tuple):
        return [_strict(each) for each in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    entry = cast("dict[str, Any]", node)
    made: Any = {key: value if key in ("default", "metadata") else _strict(value) for key, value in entry.items()}
    if made.get("type") == "float":
        return {**made, "allow_inf_nan": False}
    return no_info_before_validator_function(_check_json_text, made) if made.get("type") == "json" else made


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
