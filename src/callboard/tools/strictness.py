"""A validator that holds all of a document to the rules of JSON, also where the types in it would not.

A number is finite, whatever a model's settings say. A JSON text within the document, which a type (`Json`) reads, is
held to the same rules as the document.
"""

from typing import Any, cast

from pydantic_core import CoreSchema, PydanticCustomError, SchemaValidator, from_json
from pydantic_core.core_schema import no_info_before_validator_function

from ..errors import ToolError
from ..jsonrules.duplicate_keys import check_keys_and_numbers


def strict_validator(schema: CoreSchema) -> SchemaValidator:
    """The validator of a schema, made strict."""
    return SchemaValidator(_strict(schema), _use_prebuilt=False)


def _strict(node: Any) -> Any:
    if isinstance(node, list | tuple):
        return [_strict(each) for each in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    entry = cast("dict[str, Any]", node)
    made: Any = {key: value if key in ("default", "metadata") else _strict(value) for key, value in entry.items()}
    if made.get("type") == "float":
        return {**made, "allow_inf_nan": False}
    return no_info_before_validator_function(_looked_at, made) if made.get("type") == "json" else made


def _looked_at(text: Any) -> Any:
    data = text.encode() if isinstance(text, str) else text
    if isinstance(data, bytes | bytearray):
        try:
            from_json(data)
        except ValueError:  # the type says it better
            return text
        try:
            check_keys_and_numbers(bytes(data))
        except ToolError as error:
            raise PydanticCustomError("json_text", "{reason}", {"reason": error.message}) from error
    return text
