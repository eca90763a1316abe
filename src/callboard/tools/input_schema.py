"""The JSON schema of a typed input: Pydantic's schema, with every secret marked and every flag listed."""

from functools import cache
from typing import Any, cast

from pydantic import Secret, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema, from_json, to_json

from ..schemas.secrets import has_secrets
from .flags import FlagSchema


class InputSchema(FlagSchema):
    """Marks `Secret[...]` and secret keys `writeOnly`, as Pydantic does only for `SecretStr` and `SecretBytes`."""

    def json_or_python_schema(self, schema: core_schema.JsonOrPythonSchema) -> JsonSchemaValue:
        made = super().json_or_python_schema(schema)
        written = cast("dict[str, Any]", schema.get("serialization", {}))
        return {**made, "writeOnly": True} if written.get("function") is _secret_serializer() else made

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        made = super().dict_schema(schema)
        if "keys_schema" in schema and has_secrets(self.generate_inner(schema["keys_schema"])):
            made["propertyNames"] = {"type": "string", **made.get("propertyNames", {}), "writeOnly": True}
        return made

    def encode_default(self, dft: Any) -> Any:
        made: Any = super().encode_default(dft)
        if made.__class__ in (list, dict):
            text = to_json(dft, inf_nan_mode="constants", by_alias=self.by_alias)
            if b"NaN" in text or b"Infinity" in text:  # where `made` has null, which would be another default
                return from_json(text)
        return made


@cache
def _secret_serializer() -> Any:
    """Return the function that serializes a `Secret`, the only mark by which its core schema is recognized."""
    secret = cast("dict[str, Any]", TypeAdapter(Secret[str]).core_schema)
    return secret["serialization"]["function"]
