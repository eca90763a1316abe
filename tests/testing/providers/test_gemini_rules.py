"""Requests that the double of Gemini refuses and accepts (C5)."""

from typing import Any

import pytest

from callboard.testing.providers import GeminiDouble
from tests.testing.providers.asking import HEADERS, Body, Change, Table, ask

pytestmark = pytest.mark.anyio

PATH = "/v1beta/models/gemini-3-pro-preview:generateContent"
SKIP = "skip_thought_signature_validator"


def user(*parts: Any) -> Body:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> Body:
    return {"role": "model", "parts": list(parts)}


def call(**more: Any) -> Body:
    return {"functionCall": {"name": "add", "args": {"a": 1}}, **more}


RESPONSE: Body = {"functionResponse": {"name": "add", "response": {"output": 2}}}
TABLE = Table(
    {
        "contents": [
            user({"text": "Hi"}),
            model({"text": "I look."}, call(thoughtSignature="eA=="), call()),
            user(RESPONSE, RESPONSE),
        ],
        "tools": [
            {"functionDeclarations": [{"name": "add", "parameters": {"type": "OBJECT", "properties": {"a": {}}}}]},
        ],
    }
)


def declared(body: Body) -> Body:
    return body["tools"][0]["functionDeclarations"][0]


@TABLE.refuses("fields_known", 'Invalid JSON payload received. Unknown name "messages": Cannot find field.')
def unknown_field(body: Body) -> None:
    body["messages"] = []


@TABLE.refuses(
    "fields_known", "Invalid JSON payload received. Unknown name \"type\" at 'contents[0].parts[0]': Cannot find"
)
def unknown_field_of_a_part(body: Body) -> None:
    body["contents"][0]["parts"][0]["type"] = "text"


@TABLE.refuses("contents_given", "* GenerateContentRequest.contents: contents is not specified\n")
def no_contents(body: Body) -> None:
    body["contents"] = []


@TABLE.refuses("roles_known", "Please use a valid role: user, model.")
def role_of_another_provider(body: Body) -> None:
    body["contents"][2]["role"] = "function"


@TABLE.refuses("roles_known", "Please use a valid role: user, model.")
def no_role(body: Body) -> None:
    del body["contents"][2]["role"]


@TABLE.refuses("parts_not_empty", "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n")
def no_parts(body: Body) -> None:
    body["contents"].insert(0, user())


@TABLE.refuses(
    "parts_not_empty", "* GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must"
)
def empty_part(body: Body) -> None:
    body["contents"][0]["parts"].append({"thought": True})


@TABLE.refuses(
    "calls_after_user",
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
)
def call_after_the_model_spoke(body: Body) -> None:
    body["contents"] += [model({"text": "It runs."}), model(call(thoughtSignature=SKIP)), user(RESPONSE)]


@TABLE.refuses(
    "calls_after_user", "Please ensure that function call turn comes immediately after a user turn or after a"
)
def call_first(body: Body) -> None:
    del body["contents"][0]


@TABLE.refuses(
    "responses_after_calls", "Please ensure that function response turn comes immediately after a function call turn."
)
def response_without_call(body: Body) -> None:
    body["contents"] += [model({"text": "2"}), user(RESPONSE)]


@TABLE.refuses(
    "responses_after_calls", "Please ensure that function response turn comes immediately after a function call"
)
def responses_in_two_messages(body: Body) -> None:
    body["contents"][2:] = [user(RESPONSE), user(RESPONSE)]


@TABLE.refuses(
    "one_response_per_call",
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn.",
)
def call_without_response(body: Body) -> None:
    body["contents"][2]["parts"].pop()


@TABLE.refuses(
    "one_response_per_call", "Please ensure that the number of function response parts is equal to the number"
)
def too_many_responses(body: Body) -> None:
    body["contents"][2]["parts"].append(RESPONSE)


@TABLE.refuses(
    "one_response_per_call", "Please ensure that the number of function response parts is equal to the number"
)
def user_instead_of_responses(body: Body) -> None:
    body["contents"][2] = user({"text": "Wait."})


@TABLE.refuses("user_last", "Requests ending with a model turn are not supported.")
def model_last(body: Body) -> None:
    body["contents"].append(model({"text": "The sum"}))


@TABLE.refuses(
    "calls_signed",
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:add` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more "
    "details.",
)
def call_without_signature(body: Body) -> None:
    del body["contents"][1]["parts"][1]["thoughtSignature"]


@TABLE.refuses("calls_signed", "Function call is missing a thought_signature in functionCall parts.")
def second_step_without_signature(body: Body) -> None:
    body["contents"] += [model(call()), user(RESPONSE)]


@TABLE.refuses(
    "tool_names_well_formed", "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function"
)
def bad_tool_name(body: Body) -> None:
    declared(body)["name"] = "1st"


@TABLE.refuses(
    "tool_names_well_formed", "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function"
)
def long_tool_name(body: Body) -> None:
    declared(body)["name"] = "a" * 65


@TABLE.refuses("tool_names_unique", "Duplicate function declaration found: add")
def tool_twice(body: Body) -> None:
    body["tools"] *= 2


@TABLE.refuses(
    "schemas_supported",
    'Invalid JSON payload received. Unknown name "$ref" at \'tools[0].function_declarations[0].parameters.properties[0]'
    ".value': Cannot find field.",
)
def reference(body: Body) -> None:
    declared(body)["parameters"]["properties"]["a"] = {"$ref": "#/$defs/A"}


@TABLE.refuses(
    "schemas_supported",
    'Invalid JSON payload received. Unknown name "additionalProperties" at '
    "'tools[0].function_declarations[0].parameters': Cannot find field.",
)
def closed_object(body: Body) -> None:
    declared(body)["parameters"]["additionalProperties"] = False


@TABLE.refuses(
    "schemas_supported",
    'Invalid JSON payload received. Unknown name "const" at \'tools[0].function_declarations[0].parameters.'
    "properties[0].value.any_of[0]': Cannot find field.",
)
def constant_in_a_choice(body: Body) -> None:
    declared(body)["parameters"]["properties"]["a"] = {"anyOf": [{"const": 1}]}


@TABLE.refuses("functions_for_the_choice", "Function calling config is set without function_declarations.")
def choice_without_functions(body: Body) -> None:
    body["tools"] = [{"googleSearch": {}}]
    body["toolConfig"] = {"functionCallingConfig": {"mode": "AUTO"}}


# Taken


@TABLE.takes
def nothing_changed(_: Body) -> None: ...


@TABLE.takes
def the_other_spelling(body: Body) -> None:
    body["contents"][1]["parts"] = [{"function_call": {"name": "add", "args": {}}, "thought_signature": SKIP}]
    body["contents"][2]["parts"] = [{"function_response": {"name": "add", "response": {}}}]
    body["tools"] = [{"function_declarations": [{"name": "add"}]}]


@TABLE.takes
def call_joined_to_what_the_model_said(body: Body) -> None:
    body["contents"] += [model({"text": "It runs."}, call(thoughtSignature=SKIP)), user(RESPONSE)]


@TABLE.takes
def call_after_responses(body: Body) -> None:
    body["contents"] += [model(call(thoughtSignature=SKIP)), user(RESPONSE)]


@TABLE.takes
def earlier_turns_without_signatures(body: Body) -> None:
    del body["contents"][1]["parts"][1]["thoughtSignature"]
    body["contents"] += [model({"text": "2"}), user({"text": "Thanks"})]


@TABLE.takes
def user_after_responses(body: Body) -> None:
    body["contents"].append(user({"text": "Well?"}))


@TABLE.takes
def any_json_schema(body: Body) -> None:
    del declared(body)["parameters"]
    declared(body)["parametersJsonSchema"] = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}


@TABLE.takes
def single_content_without_role(body: Body) -> None:
    body["contents"] = [{"parts": [{"text": "Hi"}]}]


@pytest.mark.parametrize(("rule", "message", "change"), TABLE.refused, ids=lambda each: getattr(each, "__name__", ""))
async def test_c5_gemini_refuses(rule: str, message: str, change: Change) -> None:
    double = GeminiDouble(["Never said."])
    response = await ask(double, PATH, TABLE.changed(change), HEADERS["gemini"])
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert error["message"].startswith(message)
    assert [refusal.rule for refusal in double.refusals] == [rule]
    assert double.left == 1


@pytest.mark.parametrize("change", TABLE.taken, ids=lambda each: each.__name__)
async def test_c5_gemini_accepts(change: Change) -> None:
    response = await ask(GeminiDouble(["Yes."]), PATH, TABLE.changed(change), HEADERS["gemini"])
    assert response.status_code == 200, response.text
    assert response.json()["candidates"][0]["content"]["parts"] == [{"text": "Yes."}]


async def test_c5_gemini_requires_no_signatures_before_the_third_generation() -> None:
    body = TABLE.changed(call_without_signature)
    path = PATH.replace("gemini-3-pro-preview", "gemini-2.5-flash")
    assert (await ask(GeminiDouble(["Yes."]), path, body, HEADERS["gemini"])).status_code == 200


async def test_c5_gemini_requires_a_key() -> None:
    double = GeminiDouble()
    response = await ask(double, PATH, TABLE.base, {})
    assert (response.status_code, response.json()["error"]["status"]) == (403, "PERMISSION_DENIED")
    assert double.refusals[0].rule == "key_named"


def test_c5_gemini_every_rule_is_tested() -> None:
    tested = {rule for rule, _, _ in TABLE.refused} | {"key_named"}
    assert tested == {rule.__name__ for rule in GeminiDouble.rules}
