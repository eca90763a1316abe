"""The JSON schema of a typed input: Pydantic's own, and with every secret called one."""

from functools import cache
from typing import Any, cast

from pydantic import Secret, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from ..schemas.secrets import has_secrets


class InputSchema(GenerateJsonSchema):
    """Says `writeOnly` also of `Secret[...]`, and of keys. Pydantic does so of `SecretStr` and `SecretBytes` only."""

    def json_or_python_schema(self, schema: core_schema.JsonOrPythonSchema) -> JsonSchemaValue:
        made = super().json_or_python_schema(schema)
        written = cast("dict[str, Any]", schema.get("serialization", {}))
        return {**made, "writeOnly": True} if written.get("function") is _mark_of_secrets() else made

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        made = super().dict_schema(schema)
        if "keys_schema" in schema and has_secrets(self.generate_inner(schema["keys_schema"])):
            made["propertyNames"] = {"type": "string", **made.get("propertyNames", {}), "writeOnly": True}
        return made


@cache
def _mark_of_secrets() -> Any:
    """The function that writes a `Secret`. By it alone, a secret of some type is told from that type."""
    secret = cast("dict[str, Any]", TypeAdapter(Secret[str]).core_schema)
    return secret["serialization"]["function"]
