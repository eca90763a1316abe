"""Tools: their names and their schemas."""

from ...request import Refusal, Request
from .. import openai_words as words
from ..openai_schemas import schema_complaint
from ..reading import as_object
from .conversation import functions


def tool_names_well_formed(request: Request) -> Refusal | None:
    """The name of a tool is made of 1 to 64 letters, digits, `_` and `-`.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    for place, function in functions(request):
        if (refusal := words.bad_name(f"{place}.name", str(function.get("name", "")))) is not None:
            return refusal
    return None


def schemas_supported(request: Request) -> Refusal | None:
    """A schema is what it has to be in Chat Completions.

    https://platform.openai.com/docs/guides/function-calling and https://github.com/makenotion/notion-mcp-server/issues/102
    """
    for place, function in functions(request):
        schema = as_object(function.get("parameters"))
        strict = function.get("strict") is True
        complaint = schema_complaint(str(function.get("name")), schema, strict=strict) if schema else None
        if complaint is not None:
            return Refusal(complaint, param=f"{place}.parameters", code="invalid_function_parameters")
    return None
