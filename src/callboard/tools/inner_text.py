"""A JSON text within a document, which a type (`Json`) has read: it is held to the same rules as the document."""

from typing import Any, cast

from pydantic_core import CoreSchema, PydanticCustomError, SchemaValidator, from_json
from pydantic_core.core_schema import no_info_before_validator_function

from ..errors import ToolError
from .document import check_text


def strict_validator(schema: CoreSchema) -> SchemaValidator:
    """A validator that also looks at the texts that it reads."""
    return SchemaValidator(_looking(schema), _use_prebuilt=False)


def _looking(node: Any) -> Any:
    if isinstance(node, list | tuple):
        return [_looking(each) for each in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    entry = cast("dict[str, Any]", node)
    made: Any = {key: value if key in ("default", "metadata") else _looking(value) for key, value in entry.items()}
    return no_info_before_validator_function(_looked_at, made) if made.get("type") == "json" else made


def _looked_at(text: Any) -> Any:
    data = text.encode() if isinstance(text, str) else text
    if isinstance(data, bytes | bytearray):
        try:
            value: Any = from_json(data)
        except ValueError:  # the type says it better
            return text
        try:
            check_text(bytes(data), value)
        except ToolError as error:
            raise PydanticCustomError("json_text", "{reason}", {"reason": error.message}) from error
    return text
