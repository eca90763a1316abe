"""The check of the defaults of parameters, which models see in the schema, and handlers get without validation."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import CoreSchema, PydanticSerializationError, SchemaValidator, to_json

from ..errors import RegistrationError
from .problems import problems_of

_OPAQUE = ("function-", "definition-ref", "json")
"""Kinds of core schemas, by how they begin, whose values a default need not look like: code of the user reads them."""


def check_defaults(tool: str, schema: CoreSchema) -> None:
    """Raise `RegistrationError` for a default that models see, but that a call would refuse.

    None is always admitted, as is an object that JSON cannot represent: both stand for a missing argument. A parameter
    with a validator, or with a default factory, is not checked.
    """
    top = cast("dict[str, Any]", schema)
    fields: Mapping[str, Any] = top.get("schema", top).get("fields", {})
    for name, field in fields.items():
        inner = field["schema"]
        default = inner.get("default") if inner["type"] == "default" else None
        if default is None or _is_opaque(inner["schema"]):
            continue
        if (error := _refusal(inner["schema"], default)) is not None:
            problems = [f"{each['path']}: {each['message']}".removeprefix(": ") for each in problems_of(error)]
            raise RegistrationError(
                f"The default of the parameter {name!r} of the tool {tool} does not fit its type: {problems[0]} "
                "Give one that fits, or None for a missing argument."
            )


def _refusal(schema: CoreSchema, default: Any) -> ValidationError | None:
    validator = SchemaValidator(schema)
    try:
        validator.validate_python(default, strict=True)
        return None
    except ValidationError:  # such as for a tuple as the default of a list, which is a list in JSON
        try:
            validator.validate_json(to_json(default), strict=True)
        except ValidationError as error:
            return error
        except (PydanticSerializationError, ValueError, RecursionError):
            return None
    return None


def _is_opaque(schema: CoreSchema) -> bool:
    pending: list[Any] = [schema]
    for node in pending:  # grows during the walk
        if isinstance(node, dict):
            entry = cast("dict[str, Any]", node)
            if str(entry.get("type", "")).startswith(_OPAQUE):
                return True
            pending += [each for key, each in entry.items() if key not in ("default", "metadata", "serialization")]
        elif isinstance(node, list | tuple):
            pending += cast("list[Any]", node)
    return False
