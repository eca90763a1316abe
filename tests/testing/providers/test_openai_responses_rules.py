"""Requests that the double of OpenAI's Responses API refuses and accepts (C5)."""

from typing import Any

import pytest

from callboard.testing.providers import Call, OpenAIResponsesDouble, Thinking, Turn
from tests.testing.providers.asking import HEADERS, Body, Change, Table, ask

pytestmark = pytest.mark.anyio

PATH = "/v1/responses"


def call(identity: str, **more: Any) -> Body:
    return {"type": "function_call", "call_id": identity, "name": "add", "arguments": '{"a": 1}', **more}


def output(identity: str) -> Body:
    return {"type": "function_call_output", "call_id": identity, "output": "2"}


def says(role: str, content: Any, **more: Any) -> Body:
    return {"role": role, "content": content, **more}


def reasoning(identity: str) -> Body:
    return {"type": "reasoning", "id": identity, "summary": [], "encrypted_content": "x"}


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TABLE = Table(
    {
        "model": "gpt-5",
        "input": [
            says("user", "Hi"),
            reasoning("rs_1"),
            call("c1", id="fc_1"),
            call("c2", id="fc_2"),
            output("c1"),
            output("c2"),
        ],
        "tools": [{"type": "function", "name": "add", "description": "Add.", "parameters": SCHEMA, "strict": False}],
    }
)


@TABLE.refuses("required_fields_given", "Missing required parameter: 'model'.")
def no_model(body: Body) -> None:
    del body["model"]


@TABLE.refuses("required_fields_given", "Missing required parameter: 'input'.")
def no_input(body: Body) -> None:
    body["input"] = []


@TABLE.refuses("fields_known", "Unknown parameter: 'messages'.")
def unknown_field(body: Body) -> None:
    body["messages"] = []


@TABLE.refuses("fields_known", "Unknown parameter: 'input[1].status'.")
def unknown_field_of_an_item(body: Body) -> None:
    body["input"][1]["status"] = "completed"


@TABLE.refuses(
    "roles_known", "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer' and 'user'."
)
def role_of_the_other_way(body: Body) -> None:
    body["input"].append(says("tool", "2"))


@TABLE.refuses(
    "content_of_its_speaker", "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."
)
def input_by_the_assistant(body: Body) -> None:
    body["input"].append(says("assistant", [{"type": "input_text", "text": "2"}]))


@TABLE.refuses("ids_well_formed", "Invalid 'input[2].id': 'call_1'. Expected an ID that begins with 'fc'.")
def id_of_another_kind(body: Body) -> None:
    body["input"][2]["id"] = "call_1"


@TABLE.refuses("ids_well_formed", "Invalid 'input[6].id': 'x'. Expected an ID that begins with 'msg'.")
def id_of_no_kind(body: Body) -> None:
    body["input"].append(says("assistant", "2", id="x"))


@TABLE.refuses(
    "ids_well_formed", "Invalid 'input[2].id': ''. Expected an ID that contains letters, numbers, underscores"
)
def empty_id(body: Body) -> None:
    body["input"][2]["id"] = ""


@TABLE.refuses("ids_well_formed", "Invalid 'input[1].id': string too long. Expected a string with maximum length 64")
def long_item_id(body: Body) -> None:
    body["input"][1]["id"] = "rs_" + "1" * 62


@TABLE.refuses(
    "items_unique", "Duplicate item found with id fc_1. Remove duplicate items from your input and try again."
)
def item_twice(body: Body) -> None:
    body["input"][3]["id"] = "fc_1"


@TABLE.refuses(
    "call_ids_short", "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64"
)
def long_call_id(body: Body) -> None:
    body["input"][2]["call_id"] = "c" * 65


@TABLE.refuses("call_ids_short", "Missing required parameter: 'input[2].call_id'.")
def empty_call_id(body: Body) -> None:
    body["input"][2]["call_id"] = ""


@TABLE.refuses(
    "names_in_history_well_formed",
    "Invalid 'input[2].name': string does not match pattern. Expected a string that matches the pattern "
    "'^[a-zA-Z0-9_-]+$'.",
)
def bad_name_in_history(body: Body) -> None:
    body["input"][2]["name"] = "math.add"


@TABLE.refuses("outputs_have_calls", "No tool call found for function call output with call_id c3.")
def output_without_call(body: Body) -> None:
    body["input"].append(output("c3"))


@TABLE.refuses("outputs_have_calls", "No tool call found for function call output with call_id c1.")
def output_before_its_call(body: Body) -> None:
    body["input"].insert(1, body["input"].pop(4))


@TABLE.refuses(
    "one_output_per_call",
    "Duplicate function_call_output for call_id 'c1'. Each function_call must have exactly one matching "
    "function_call_output",
)
def two_outputs(body: Body) -> None:
    body["input"] += [says("assistant", "It runs."), output("c1")]


@TABLE.refuses("one_output_per_call", "Duplicate function_call_output for call_id 'c1'.")
def same_call_id_later(body: Body) -> None:
    body["input"] += [call("c1"), output("c1")]


@TABLE.refuses("calls_have_outputs", "No tool output found for function call c2.")
def call_without_output(body: Body) -> None:
    body["input"].pop()


@TABLE.refuses(
    "reasoning_followed", "Item 'rs_1' of type 'reasoning' was provided without its required following item."
)
def reasoning_before_the_user(body: Body) -> None:
    body["input"].insert(0, body["input"].pop(1))


@TABLE.refuses(
    "reasoning_followed", "Item 'rs_2' of type 'reasoning' was provided without its required following item."
)
def reasoning_at_the_end(body: Body) -> None:
    body["input"].append(reasoning("rs_2"))


@TABLE.refuses("tool_names_well_formed", "Invalid 'tools[0].name': string does not match pattern.")
def bad_tool_name(body: Body) -> None:
    body["tools"][0]["name"] = "math.add"


@TABLE.refuses("schemas_supported", "Invalid schema for function 'add': schema must have type 'object'")
def choice_at_the_top(body: Body) -> None:
    body["tools"][0]["parameters"]["oneOf"] = []


@TABLE.refuses(
    "schemas_supported", "Invalid schema for function 'add': In context=(), 'additionalProperties' is required"
)
def open_object_in_a_strict_tool(body: Body) -> None:
    body["tools"][0]["strict"] = True


# Taken


@TABLE.takes
def nothing_changed(_: Body) -> None: ...


@TABLE.takes
def plain_text(body: Body) -> None:
    body["input"] = "Hi"


@TABLE.takes
def message_between_call_and_output(body: Body) -> None:
    body["input"].insert(4, says("user", "Wait."))


@TABLE.takes
def call_without_an_id_of_its_own(body: Body) -> None:
    body["input"] += [says("assistant", "It runs."), call("c3"), output("c3")]


@TABLE.takes
def output_for_what_the_service_knows(body: Body) -> None:
    body.update(previous_response_id="resp_1", input=[output("c1")])


@TABLE.takes
def reasoning_alone_where_nothing_is_kept(body: Body) -> None:
    body["store"] = False
    body["input"].append(reasoning("rs_2"))


@pytest.mark.parametrize(("rule", "message", "change"), TABLE.refused, ids=lambda each: getattr(each, "__name__", ""))
async def test_c5_openai_responses_refuses(rule: str, message: str, change: Change) -> None:
    double = OpenAIResponsesDouble(["Never said."])
    response = await ask(double, PATH, TABLE.changed(change), HEADERS["openai"])
    error = response.json()["error"]
    assert (response.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["message"].startswith(message)
    assert [refusal.rule for refusal in double.refusals] == [rule]
    assert double.left == 1


@pytest.mark.parametrize("change", TABLE.taken, ids=lambda each: each.__name__)
async def test_c5_openai_responses_accepts(change: Change) -> None:
    response = await ask(OpenAIResponsesDouble(["Yes."]), PATH, TABLE.changed(change), HEADERS["openai"])
    assert response.status_code == 200, response.text
    assert response.json()["output"][0]["content"][0]["text"] == "Yes."


async def test_c5_openai_responses_keeps_reasoning_with_the_item_after_it() -> None:
    double = OpenAIResponsesDouble([Turn(Thinking("Hm."), Call("add", id="c1")), "Yes.", "Yes."])
    said = (await ask(double, PATH, {"model": "gpt-5", "input": "Hi"}, HEADERS["openai"])).json()["output"]
    reasoned, called = said

    async def send(*items: Body, **more: Any) -> Any:
        body = {"model": "gpt-5", "input": [says("user", "Hi"), *items, output("c1")], **more}
        return (await ask(double, PATH, body, HEADERS["openai"])).json()

    assert (await send(called))["error"]["message"] == (
        f"Item '{called['id']}' of type 'function_call' was provided without its required 'reasoning' item: "
        f"'{reasoned['id']}'."
    )
    assert double.refusals[-1].rule == "reasoning_kept"
    assert "output" in await send(reasoned, called)
    assert "output" in await send(called, store=False)


async def test_c5_openai_responses_requires_a_key() -> None:
    double = OpenAIResponsesDouble()
    response = await ask(double, PATH, TABLE.base, {})
    assert (response.status_code, double.refusals[0].rule) == (401, "key_named")


def test_c5_openai_responses_every_rule_is_tested() -> None:
    tested = {rule for rule, _, _ in TABLE.refused} | {"key_named", "reasoning_kept"}
    assert tested == {rule.__name__ for rule in OpenAIResponsesDouble.rules}
