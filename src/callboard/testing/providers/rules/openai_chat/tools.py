"""Number, names and schemas of tools."""

from ...request import Refusal, Request
from .. import openai_refusals as refusals
from ..json_access import as_list, as_object
from ..openai_schemas import schema_complaint
from .conversation import functions


def at_most_128_tools(request: Request) -> Refusal | None:
    """A request has at most 128 tools.

    https://github.com/0x4m4/hexstrike-ai/issues/29
    """
    count = len(as_list(request.body.get("tools")))
    return refusals.array_too_long("tools", count, 128) if count > 128 else None


def tool_names_well_formed(request: Request) -> Refusal | None:
    """The name of a tool is made of 1 to 64 letters, digits, `_` and `-`.

    https://github.com/brekkylab/ailoy/pull/109 and https://platform.openai.com/docs/api-reference/chat/create
    """
    for place, function in functions(request):
        if (refusal := refusals.bad_name(f"{place}.name", str(function.get("name", "")))) is not None:
            return refusal
    return None


def schemas_supported(request: Request) -> Refusal | None:
    """A schema is an object without a union at its root, and its arrays have `items`.

    Strict ones are closed, have nothing optional, and know fewer keywords; `$ref` stands alone in them.
    https://github.com/nspady/google-calendar-mcp/issues/39, https://github.com/streamnative/streamnative-mcp-server/issues/26,
    https://github.com/anomalyco/opencode/issues/13737, https://github.com/camel-ai/camel/issues/3001 and
    https://platform.openai.com/docs/guides/structured-outputs
    """
    for place, function in functions(request):
        if "parameters" not in function:
            continue
        strict = function.get("strict") is True
        complaint = schema_complaint(str(function.get("name")), as_object(function["parameters"]), strict=strict)
        if complaint is not None:
            return Refusal(complaint, param=f"{place}.parameters", code="invalid_function_parameters")
    return None
