"""Calls and their outputs: one output per call, anywhere after the call."""

from ...request import Refusal, Request
from .. import openai_refusals as refusals
from .conversation import continues, items

ID_LIMIT = 64


def call_ids_short(request: Request) -> Refusal | None:
    """The id of a call has 1 to 64 characters.

    https://github.com/earendil-works/pi/issues/1022 and https://github.com/decolua/9router/issues/393
    """
    for item in items(request):
        if item.kind in ("function_call", "function_call_output"):
            given, param = str(item.body.get("call_id") or ""), f"{item.place}.call_id"
            if not given:
                return refusals.missing(param)
            if len(given) > ID_LIMIT:
                return refusals.too_long(param, given, ID_LIMIT)
    return None


def names_in_history_well_formed(request: Request) -> Refusal | None:
    """The name in a call is a valid tool name.

    https://github.com/NousResearch/hermes-agent/issues/31666 and https://github.com/openai/codex/pull/9447
    """
    for item in items(request):
        name = str(item.body.get("name", "")) if item.kind == "function_call" else "-"
        if (refusal := refusals.bad_name(f"{item.place}.name", name)) is not None:
            return refusal
    return None


def outputs_have_calls(request: Request) -> Refusal | None:
    """Every output has its call before it, unless the service has stored the earlier conversation.

    https://github.com/vercel/ai/issues/8216 and https://github.com/microsoft/vscode/issues/320060
    """
    called: set[str] = set()
    for item in items(request):
        if item.kind == "function_call":
            called.add(item.body["call_id"])
        elif item.kind == "function_call_output" and item.body["call_id"] not in called and not continues(request):
            message = f"No tool call found for function call output with call_id {item.body['call_id']}."
            return Refusal(message, param="input")
    return None


def one_output_per_call(request: Request) -> Refusal | None:
    """No id has two outputs, so no two calls can have the same id.

    https://github.com/NousResearch/hermes-agent/issues/102629
    """
    seen: set[str] = set()
    for item in items(request):
        if item.kind == "function_call_output":
            if (call := item.body["call_id"]) in seen:
                return Refusal(
                    f"Duplicate function_call_output for call_id '{call}'. Each function_call must have exactly one "
                    "matching function_call_output",
                    param="input",
                )
            seen.add(call)
    return None


def calls_have_outputs(request: Request) -> Refusal | None:
    """Every call has its output, not necessarily directly after it.

    https://github.com/bytedance/trae-agent/issues/245
    """
    given = items(request)
    answered = {item.body["call_id"] for item in given if item.kind == "function_call_output"}
    for item in given:
        if item.kind == "function_call" and item.body["call_id"] not in answered:
            return Refusal(f"No tool output found for function call {item.body['call_id']}.", param="input")
    return None
