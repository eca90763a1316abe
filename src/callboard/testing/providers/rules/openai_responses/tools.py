"""Names and schemas of tools."""

from ...request import Refusal, Request
from .. import openai_refusals as refusals
from ..json_access import as_object
from ..openai_schemas import schema_complaint
from .conversation import functions


def tool_names_well_formed(request: Request) -> Refusal | None:
    """The name of a tool is made of 1 to 64 letters, digits, `_` and `-`.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    for place, function in functions(request):
        if (refusal := refusals.bad_name(f"{place}.name", str(function.get("name", "")))) is not None:
            return refusal
    return None


def schemas_supported(request: Request) -> Refusal | None:
    """A schema follows the rules of Chat Completions.

    https://platform.openai.com/docs/guides/function-calling and https://github.com/makenotion/notion-mcp-server/issues/102
    """
    for place, function in functions(request):
        schema = as_object(function.get("parameters"))
        strict = function.get("strict") is True
        complaint = schema_complaint(str(function.get("name")), schema, strict=strict) if schema else None
        if complaint is not None:
            return Refusal(complaint, param=f"{place}.parameters", code="invalid_function_parameters")
    return None
