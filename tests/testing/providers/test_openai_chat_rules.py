"""Requests that the double of OpenAI's Chat Completions refuses and accepts (C5)."""

from typing import Any

import pytest

from callboard.testing.providers import OpenAIChatDouble
from tests.testing.providers.asking import HEADERS, Body, Change, Table, ask

pytestmark = pytest.mark.anyio

PATH = "/v1/chat/completions"


def call(identity: str) -> Body:
    return {"id": identity, "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


def calling(*identities: str, content: Any = None) -> Body:
    return {"role": "assistant", "content": content, "tool_calls": [call(identity) for identity in identities]}


def result(identity: str) -> Body:
    return {"role": "tool", "tool_call_id": identity, "content": "2"}


def says(role: str, content: Any) -> Body:
    return {"role": role, "content": content}


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TABLE = Table(
    {
        "model": "gpt-4.1",
        "messages": [says("user", "Hi"), calling("c1", "c2"), result("c1"), result("c2")],
        "tools": [{"type": "function", "function": {"name": "add", "description": "Add.", "parameters": SCHEMA}}],
    }
)


def function(body: Body) -> Body:
    return body["tools"][0]["function"]


@TABLE.refuses("required_fields_given", "you must provide a model parameter")
def no_model(body: Body) -> None:
    del body["model"]


@TABLE.refuses("required_fields_given", "Missing required parameter: 'messages'.")
def no_messages(body: Body) -> None:
    del body["messages"]


@TABLE.refuses("fields_known", "Unrecognized request argument supplied: top_k")
def unknown_field(body: Body) -> None:
    body["top_k"] = 1


@TABLE.refuses(
    "arrays_not_empty", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an"
)
def empty_messages(body: Body) -> None:
    body["messages"] = []


@TABLE.refuses("arrays_not_empty", "Invalid 'tools': empty array.")
def empty_tools(body: Body) -> None:
    body["tools"] = []


@TABLE.refuses("arrays_not_empty", "Invalid 'messages[4].tool_calls': empty array.")
def empty_calls(body: Body) -> None:
    body["messages"].append(calling(content="2"))


@TABLE.refuses(
    "roles_known", "Invalid value: 'model'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool'"
)
def role_of_another_provider(body: Body) -> None:
    body["messages"].append(says("model", "2"))


@TABLE.refuses("content_given", "Invalid value for 'content': expected a string, got null.")
def assistant_that_says_nothing(body: Body) -> None:
    body["messages"].append(says("assistant", None))


@TABLE.refuses("content_given", "Invalid value for 'content': expected a string, got null.")
def empty_result(body: Body) -> None:
    body["messages"][2]["content"] = None


@TABLE.refuses(
    "arguments_are_texts", "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string"
)
def arguments_as_an_object(body: Body) -> None:
    body["messages"][1]["tool_calls"][0]["function"]["arguments"] = {"a": 1}


@TABLE.refuses(
    "ids_short",
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 64, but got a "
    "string with length 65 instead.",
)
def long_id(body: Body) -> None:
    body["messages"][1]["tool_calls"][0]["id"] = "c" * 65


@TABLE.refuses(
    "names_in_history_well_formed",
    "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. Expected a string that matches "
    "the pattern '^[a-zA-Z0-9_-]+$'.",
)
def bad_name_in_history(body: Body) -> None:
    body["messages"][1]["tool_calls"][0]["function"]["name"] = "math.add"


@TABLE.refuses(
    "at_most_128_calls",
    "Invalid 'messages[1].tool_calls': array too long. Expected an array with maximum length 128, but got an array "
    "with length 129 instead.",
)
def many_calls(body: Body) -> None:
    identities = [f"c{number}" for number in range(129)]
    body["messages"][1:] = [calling(*identities), *map(result, identities)]


@TABLE.refuses(
    "one_result_per_call",
    "Invalid parameter: Duplicate value for 'tool_call_id' of 'c1', in messages[2] and messages[4].",
)
def two_results(body: Body) -> None:
    body["messages"].append(result("c1"))


@TABLE.refuses(
    "results_have_calls",
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
)
def result_without_call(body: Body) -> None:
    body["messages"].append(result("c3"))


@TABLE.refuses("results_have_calls", "Invalid parameter: messages with role 'tool' must be a response to a preceeding")
def result_first(body: Body) -> None:
    body["messages"].insert(0, result("c1"))


@TABLE.refuses("results_have_calls", "Invalid parameter: messages with role 'tool' must be a response to a preceeding")
def second_result_later(body: Body) -> None:
    body["messages"] += [says("assistant", "It runs."), result("c1")]


@TABLE.refuses(
    "results_follow_calls",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The "
    "following tool_call_ids did not have response messages: c2",
)
def call_without_result(body: Body) -> None:
    body["messages"].pop()


@TABLE.refuses("results_have_calls", "Invalid parameter: messages with role 'tool' must be a response to a preceeding")
def message_between_the_results(body: Body) -> None:
    body["messages"].insert(3, says("user", "Wait."))


@TABLE.refuses(
    "at_most_128_tools", "Invalid 'tools': array too long. Expected an array with maximum length 128, but got"
)
def many_tools(body: Body) -> None:
    body["tools"] *= 129


@TABLE.refuses("tool_names_well_formed", "Invalid 'tools[0].function.name': string does not match pattern.")
def bad_tool_name(body: Body) -> None:
    function(body)["name"] = "math.add"


@TABLE.refuses("tool_names_well_formed", "Invalid 'tools[0].function.name': string too long.")
def long_tool_name(body: Body) -> None:
    function(body)["name"] = "a" * 65


@TABLE.refuses(
    "schemas_supported",
    "Invalid schema for function 'add': schema must have type 'object' and not have "
    "'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
)
def choice_at_the_top(body: Body) -> None:
    function(body)["parameters"]["anyOf"] = []


@TABLE.refuses(
    "schemas_supported",
    "Invalid schema for function 'add': In context=('properties', 'a'), array schema missing items.",
)
def array_of_anything(body: Body) -> None:
    function(body)["parameters"]["properties"]["a"] = {"type": "array"}


@TABLE.refuses(
    "schemas_supported",
    "Invalid schema for function 'add': In context=(), 'additionalProperties' is required to be supplied",
)
def open_object_in_a_strict_tool(body: Body) -> None:
    function(body)["strict"] = True


@TABLE.refuses(
    "schemas_supported",
    "Invalid schema for function 'add': In context=(), 'required' is required to be supplied and to be an array "
    "including every key in properties. Missing 'a'.",
)
def optional_in_a_strict_tool(body: Body) -> None:
    function(body)["strict"] = True
    function(body)["parameters"]["additionalProperties"] = False


def strict_property(body: Body, schema: Body) -> None:
    closed = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    function(body).update(strict=True, parameters=closed)


@TABLE.refuses(
    "schemas_supported",
    "Invalid schema for function 'add': context=('properties', 'a'), $ref cannot have keywords {'description'}.",
)
def reference_with_a_sibling_in_a_strict_tool(body: Body) -> None:
    strict_property(body, {"$ref": "#/$defs/A", "description": "The a."})


@TABLE.refuses("schemas_supported", "Invalid schema for function 'add': In context=('properties', 'a'), 'allOf' is not")
def all_of_in_a_strict_tool(body: Body) -> None:
    strict_property(body, {"allOf": [{"type": "integer"}]})


# Taken


@TABLE.takes
def nothing_changed(_: Body) -> None: ...


@TABLE.takes
def results_in_another_order(body: Body) -> None:
    body["messages"][2:] = [result("c2"), result("c1")]


@TABLE.takes
def consecutive_messages_of_one_role(body: Body) -> None:
    body["messages"] += [says("assistant", "It runs."), calling("c3"), result("c3")]


@TABLE.takes
def instructions_anywhere(body: Body) -> None:
    body["messages"].append(says("developer", "Be brief."))


@TABLE.takes
def references_in_a_schema(body: Body) -> None:
    function(body)["parameters"] = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A", "description": "The a."}},
        "$defs": {"A": {"type": "integer"}},
    }


@TABLE.takes
def strict_with_a_nullable_property(body: Body) -> None:
    strict_property(body, {"type": ["integer", "null"]})


@TABLE.takes
def same_id_later(body: Body) -> None:
    body["messages"] += [calling("c1"), result("c1")]


@TABLE.takes
def tool_twice(body: Body) -> None:
    body["tools"] *= 2


@pytest.mark.parametrize(("rule", "message", "change"), TABLE.refused, ids=lambda each: getattr(each, "__name__", ""))
async def test_c5_openai_chat_refuses(rule: str, message: str, change: Change) -> None:
    double = OpenAIChatDouble(["Never said."])
    response = await ask(double, PATH, TABLE.changed(change), HEADERS["openai"])
    error = response.json()["error"]
    assert (response.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["message"].startswith(message)
    assert set(error) == {"message", "type", "param", "code"}
    assert [refusal.rule for refusal in double.refusals] == [rule]
    assert double.left == 1


@pytest.mark.parametrize("change", TABLE.taken, ids=lambda each: each.__name__)
async def test_c5_openai_chat_accepts(change: Change) -> None:
    response = await ask(OpenAIChatDouble(["Yes."]), PATH, TABLE.changed(change), HEADERS["openai"])
    assert response.status_code == 200, response.text
    assert response.json()["choices"][0]["message"]["content"] == "Yes."


async def test_c5_openai_chat_names_the_place_of_an_error() -> None:
    response = await ask(OpenAIChatDouble(), PATH, TABLE.changed(long_id), HEADERS["openai"])
    error = response.json()["error"]
    assert (error["param"], error["code"]) == ("messages[1].tool_calls[0].id", "string_above_max_length")
    response = await ask(OpenAIChatDouble(), PATH, TABLE.changed(call_without_result), HEADERS["openai"])
    assert response.json()["error"]["param"] == "messages.[3].role"


async def test_c5_openai_chat_requires_a_key() -> None:
    double = OpenAIChatDouble()
    response = await ask(double, PATH, TABLE.base, {})
    assert (response.status_code, response.json()["error"]["type"]) == (401, "authentication_error")
    assert double.refusals[0].rule == "key_named"


def test_c5_openai_chat_every_rule_is_tested() -> None:
    tested = {rule for rule, _, _ in TABLE.refused} | {"key_named"}
    assert tested == {rule.__name__ for rule in OpenAIChatDouble.rules}
