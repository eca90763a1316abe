"""Rules of OpenAI's Responses API. Every call has one output, anywhere after the call."""

from collections.abc import Iterator
from typing import NamedTuple

from ..request import Body, Refusal, Request, Rule
from . import openai
from .json_access import as_object, as_objects, names

BODY = names(
    "access_programs background context_management conversation image include input instructions max_output_tokens "
    "max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options "
    "temperature text tool_choice tools top_logprobs top_p truncation user"
)
ITEMS = {
    "message": names("type role content id status phase"),
    "function_call": names("type call_id name arguments id status namespace caller"),
    "function_call_output": names("type call_id output id status caller"),
    "reasoning": names("type id summary content encrypted_content"),
}
ROLES = ("assistant", "system", "developer", "user")
CONTENT = {
    "assistant": ("output_text", "refusal"),
    "user": ("input_text", "input_image", "input_file", "input_audio"),
}
PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
"""The kinds of items that a model writes, with the prefixes of their ids."""


# Fields and items


def fields_known(request: Request) -> Iterator[Refusal]:
    """Neither the request nor an item has unknown fields.

    https://github.com/BerriAI/litellm/issues/13420 and https://github.com/pydantic/pydantic-ai/issues/3653
    """
    unknown = [name for name in request.body if name not in BODY]
    for item in _items(request):
        known = ITEMS.get(item.kind)
        unknown += [f"{item.place}.{name}" for name in item.body if known is not None and name not in known]
    for name in unknown:
        yield Refusal(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")


def required_fields_given(request: Request) -> Iterator[Refusal]:
    """A request has a model and an input.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    if not request.model:
        yield openai.missing("model")
    if not request.body.get("input"):
        yield openai.missing("input")


def roles_known(request: Request) -> Iterator[Refusal]:
    """Roles are known. They need not alternate, and instructions may be anywhere.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    for item in _items(request, "message"):
        if item.body.get("role") not in ROLES:
            yield openai.bad_value(item.place, item.body.get("role"), ROLES)


def content_of_its_speaker(request: Request) -> Iterator[Refusal]:
    """Content of assistant messages is output, content of user messages is input.

    https://github.com/jeremychone/rust-genai/pull/119 and https://github.com/epam/ai-dial-adapter-openai/issues/511
    """
    for item in _items(request, "message"):
        supported = CONTENT.get(str(item.body.get("role")), ())
        for position, part in enumerate(as_objects(item.body.get("content"))):
            if supported and part.get("type") not in supported:
                yield openai.bad_value(f"{item.place}.content[{position}]", part.get("type"), supported)


def ids_well_formed(request: Request) -> Iterator[Refusal]:
    """The id of an item has the prefix of its kind, at most 64 characters, and only letters, digits, `_` and `-`.

    https://github.com/UKGovernmentBEIS/inspect_ai/pull/1545, https://github.com/nodetool-ai/nodetool/pull/4252,
    https://github.com/earendil-works/pi/issues/1022 and https://github.com/can1357/oh-my-pi/issues/284
    """
    for item in _items(request, *PREFIXES):
        given, param, prefix = item.body.get("id"), f"{item.place}.id", PREFIXES[item.kind]
        if given is None:
            continue
        wanted = None
        if not openai.NAME.fullmatch(str(given)):
            wanted = "contains letters, numbers, underscores, or dashes, but this value contained additional characters"
        elif not str(given).startswith(prefix):
            wanted = f"begins with '{prefix}'"
        if wanted:
            message = f"Invalid '{param}': '{given}'. Expected an ID that {wanted}."
            yield Refusal(message, param=param, code="invalid_value")
        yield from openai.check_length(param, str(given))


def items_unique(request: Request) -> Iterator[Refusal]:
    """Item ids are unique.

    https://github.com/vercel/ai/issues/7883 and https://github.com/earendil-works/pi/issues/5151
    """
    seen: set[str] = set()
    for item in _items(request):
        given = item.body.get("id")
        if given in seen:
            message = f"Duplicate item found with id {given}. Remove duplicate items from your input and try again."
            yield Refusal(message, param="input")
        if isinstance(given, str):
            seen.add(given)


# Calls and their outputs


def call_ids_short(request: Request) -> Iterator[Refusal]:
    """The id of a call has 1 to 64 characters.

    https://github.com/earendil-works/pi/issues/1022 and https://github.com/decolua/9router/issues/393
    """
    for item in _items(request, "function_call", "function_call_output"):
        given, param = str(item.body.get("call_id") or ""), f"{item.place}.call_id"
        if not given:
            yield openai.missing(param)
        yield from openai.check_length(param, given)


def names_in_history_well_formed(request: Request) -> Iterator[Refusal]:
    """The name in a call is a valid tool name.

    https://github.com/NousResearch/hermes-agent/issues/31666 and https://github.com/openai/codex/pull/9447
    """
    for item in _items(request, "function_call"):
        yield from openai.check_name(f"{item.place}.name", item.body)


def outputs_have_calls(request: Request) -> Iterator[Refusal]:
    """Every output has its call before it, unless the service has stored the earlier conversation.

    https://github.com/vercel/ai/issues/8216 and https://github.com/microsoft/vscode/issues/320060
    """
    if request.body.get("previous_response_id") or request.body.get("conversation"):
        return
    called: set[str] = set()
    for item in _items(request):
        if item.kind == "function_call":
            called.add(item.body["call_id"])
        elif item.kind == "function_call_output" and item.body["call_id"] not in called:
            message = f"No tool call found for function call output with call_id {item.body['call_id']}."
            yield Refusal(message, param="input")


def one_output_per_call(request: Request) -> Iterator[Refusal]:
    """No id has two outputs, so no two calls can have the same id.

    https://github.com/NousResearch/hermes-agent/issues/102629
    """
    seen: set[str] = set()
    for item in _items(request, "function_call_output"):
        if (call := item.body["call_id"]) in seen:
            yield Refusal(
                f"Duplicate function_call_output for call_id '{call}'. Each function_call must have exactly one "
                "matching function_call_output",
                param="input",
            )
        seen.add(call)


def calls_have_outputs(request: Request) -> Iterator[Refusal]:
    """Every call has its output, not necessarily directly after it.

    https://github.com/bytedance/trae-agent/issues/245
    """
    answered = {item.body["call_id"] for item in _items(request, "function_call_output")}
    for item in _items(request, "function_call"):
        if item.body["call_id"] not in answered:
            yield Refusal(f"No tool output found for function call {item.body['call_id']}.", param="input")


# Reasoning and the item that followed it are sent together, if the service stores responses, which is the default. A
# live test with `store: false` saw neither of the two rules (https://github.com/jin-bo/agentao/pull/321).


def reasoning_followed(request: Request) -> Iterator[Refusal]:
    """Reasoning is followed by a message or a call of the model.

    https://github.com/openai/openai-node/issues/1567 and https://github.com/vercel/ai/issues/7099
    """
    given = _items(request)
    for item in _items(request, "reasoning") if _stored(request) else ():
        following = given[item.position + 1] if item.position + 1 < len(given) else None
        if following and following.kind in PREFIXES and following.body.get("role", "assistant") == "assistant":
            continue
        message = f"Item '{item.body.get('id')}' of type 'reasoning' was provided without its required following item."
        yield Refusal(message, param="input")


def reasoning_kept(request: Request) -> Iterator[Refusal]:
    """An item that followed reasoning is not sent without it, if it has an id.

    https://github.com/omnigent-ai/omnigent/issues/5066 and https://github.com/pydantic/pydantic-ai/pull/2882
    """
    ids = {item.body.get("id") for item in _items(request)}
    for item in _items(request) if _stored(request) else ():
        needed = request.remembered.get(str(item.body.get("id")))
        if needed is not None and needed not in ids:
            yield Refusal(
                f"Item '{item.body['id']}' of type '{item.kind}' was provided without its required 'reasoning' item: "
                f"'{needed}'.",
                param="input",
            )


# Tools


def tool_names_well_formed(request: Request) -> Iterator[Refusal]:
    """The name of a tool is made of 1 to 64 letters, digits, `_` and `-`.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    for place, function in _functions(request):
        yield from openai.check_name(f"{place}.name", function)


def schemas_supported(request: Request) -> Iterator[Refusal]:
    """A schema follows the rules of Chat Completions.

    https://platform.openai.com/docs/guides/function-calling and https://github.com/makenotion/notion-mcp-server/issues/102
    """
    for place, function in _functions(request):
        if as_object(function.get("parameters")):
            yield from openai.check_schema(f"{place}.parameters", function)


# Access to the parts of a request


class Item(NamedTuple):
    """One item of the input with its position."""

    position: int
    kind: str
    body: Body

    @property
    def place(self) -> str:
        return f"input[{self.position}]"


def _items(request: Request, *kinds: str) -> list[Item]:
    """List the items of the input, or those of some kinds. An item without a type is a message."""
    bodies = as_objects(request.body.get("input"))
    items = [Item(index, str(body.get("type", "message")), body) for index, body in enumerate(bodies)]
    return [item for item in items if item.kind in kinds] if kinds else items


def _functions(request: Request) -> list[tuple[str, Body]]:
    """List every function with its path."""
    tools = enumerate(as_objects(request.body.get("tools")))
    return [(f"tools[{index}]", tool) for index, tool in tools if tool.get("type") == "function"]


def _stored(request: Request) -> bool:
    return request.body.get("store") is not False


RULES: tuple[Rule, ...] = (
    openai.key_named,
    fields_known,
    required_fields_given,
    roles_known,
    content_of_its_speaker,
    ids_well_formed,
    items_unique,
    call_ids_short,
    names_in_history_well_formed,
    outputs_have_calls,
    one_output_per_call,
    calls_have_outputs,
    reasoning_followed,
    reasoning_kept,
    tool_names_well_formed,
    schemas_supported,
)
"""All rules in the order in which they are applied. Later rules rely on earlier ones."""
