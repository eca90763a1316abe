"""Rules of the Gemini API, which accepts field names in camel case and snake case."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from ..request import Body, Refusal, Request, Rule
from .json_access import as_object, as_objects, names

HUMP = re.compile(r"(?<!^)(?=[A-Z])")
GENERATION = re.compile(r"(?:models/)?gemini-(\d+)")
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
SIGNED_SINCE = 3


def _snake(name: str) -> str:
    return HUMP.sub("_", name).lower()


def _both_spellings(text: str) -> frozenset[str]:
    """Split a text into names in camel case, and add each in snake case."""
    return names(text) | {_snake(name) for name in names(text)}


BODY = _both_spellings(
    "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent labels serviceTier "
    "store model modelArmorConfig"
)
DATA = names(
    "text functionCall functionResponse inlineData fileData executableCode codeExecutionResult toolCall toolResponse"
)
PART = _both_spellings(f"{' '.join(DATA)} thought thoughtSignature videoMetadata mediaResolution partMetadata")
DECLARATION = _both_spellings("name description parameters parametersJsonSchema response responseJsonSchema behavior")
SCHEMA = _both_spellings(
    "type format title description nullable enum maxItems minItems properties required minProperties maxProperties "
    "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum"
)


# Fields and contents


def key_named(request: Request) -> Iterator[Refusal]:
    """A request has a key.

    https://ai.google.dev/gemini-api/docs/api-key
    """
    if "x-goog-api-key" not in request.headers and "authorization" not in request.headers:
        message = (
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
            "other form of API consumer identity to call this API."
        )
        yield Refusal(message, 403)


def fields_known(request: Request) -> Iterator[Refusal]:
    """A request has no fields that the API does not know.

    https://github.com/decolua/9router/issues/1036
    """
    yield from _check_names("", request.body, BODY)
    for content in _contents(request):
        for position, part in enumerate(content.parts):
            yield from _check_names(f"contents[{content.place}].parts[{position}]", part, PART)
    for place, declaration in _declarations(request):
        yield from _check_names(place, declaration, DECLARATION)


def contents_given(request: Request) -> Iterator[Refusal]:
    """A request has contents.

    https://ai.google.dev/api/generate-content
    """
    if not _contents(request):
        yield Refusal("* GenerateContentRequest.contents: contents is not specified\n")


def roles_known(request: Request) -> Iterator[Refusal]:
    """Roles are `user` and `model`, and are required unless there is only one content.

    https://github.com/BerriAI/litellm/pull/22046
    """
    contents = _contents(request)
    for content in contents:
        if content.role not in ("user", "model") and not (content.role is None and len(contents) == 1):
            yield Refusal("Please use a valid role: user, model.")


def parts_not_empty(request: Request) -> Iterator[Refusal]:
    """Every content has parts, and every part has data; an empty text is valid.

    https://github.com/vercel/ai/issues/3775 and https://github.com/54xzh/FLIT/issues/69
    """
    for content in _contents(request):
        place = f"* GenerateContentRequest.contents[{content.place}].parts"
        if not content.parts:
            yield Refusal(f"{place}: contents.parts must not be empty.\n")
        for position, part in enumerate(content.parts):
            if all(_field(part, name) is None for name in DATA):
                message = f"{place}[{position}].data: required oneof field 'data' must have one initialized field\n"
                yield Refusal(message)


def user_last(request: Request) -> Iterator[Refusal]:
    """The last content is not of the model.

    https://github.com/crewAIInc/crewAI/issues/6972 and https://github.com/anomalyco/opencode/issues/47034
    """
    if _contents(request)[-1].role == "model":
        yield Refusal("Requests ending with a model turn are not supported.")


# Calls and their responses


def calls_after_user(request: Request) -> Iterator[Refusal]:
    """A call comes directly after a user content or after responses, never after another model content.

    https://github.com/google-gemini/gemini-cli/issues/11814 and https://github.com/continuedev/continue/issues/11164
    """
    contents = _contents(request)
    for content in contents:
        if content.calls and (content.place == 0 or contents[content.place - 1].role == "model"):
            yield Refusal(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )


def responses_after_calls(request: Request) -> Iterator[Refusal]:
    """Responses come directly after the calls.

    https://github.com/langchain-ai/langchain/issues/27799
    """
    contents = _contents(request)
    for content in contents:
        if content.responses and (content.place == 0 or not contents[content.place - 1].calls):
            yield Refusal("Please ensure that function response turn comes immediately after a function call turn.")


def one_response_per_call(request: Request) -> Iterator[Refusal]:
    """There are as many responses as calls.

    https://github.com/google-gemini/gemini-cli/issues/4217
    """
    for content, following in pairwise(_contents(request)):
        if content.calls and len(following.responses) != len(content.calls):
            yield Refusal(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )


def calls_signed(request: Request) -> Iterator[Refusal]:
    """From Gemini 3 on, the first call of each step of the current turn has a signature, real or `skip_thought_…`.

    The turn begins with the last content in which the user says something.
    https://ai.google.dev/gemini-api/docs/thought-signatures and https://github.com/nanbingxyz/5ire/issues/405
    """
    if generation(request) < SIGNED_SINCE or "image" in request.model:
        return
    contents = _contents(request)
    begin = max((each.place for each in contents if each.role == "user" and not each.responses), default=0)
    for content in contents[begin:]:
        first = next((part for part in content.parts if _field(part, "functionCall") is not None), None)
        if first is not None and not _field(first, "thoughtSignature"):
            called = f"function call `default_api:{content.calls[0].get('name')}` , position {content.place + 1}"
            yield Refusal(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, {called}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )


# Tools


def tool_names_well_formed(request: Request) -> Iterator[Refusal]:
    """The name of a tool begins with a letter or `_`; up to 64 letters, digits, `_`, `.`, `:` and `-` are allowed.

    https://github.com/kaitranntt/ccs/issues/25
    """
    for place, declaration in _declarations(request):
        if not NAME.fullmatch(str(declaration.get("name", ""))):
            yield Refusal(
                f"* GenerateContentRequest.{place}.name: Invalid function name. Must start with a letter or an "
                "underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), "
                "with a maximum length of 64.\n"
            )


def tool_names_unique(request: Request) -> Iterator[Refusal]:
    """Tool names are unique.

    https://github.com/rikkahub/rikkahub/issues/1311
    """
    seen: set[str] = set()
    for _, declaration in _declarations(request):
        if (name := str(declaration.get("name"))) in seen:
            yield Refusal(f"Duplicate function declaration found: {name}")
        seen.add(name)


def schemas_supported(request: Request) -> Iterator[Refusal]:
    """`parameters` supports a subset of OpenAPI's keywords, without `$ref`, `additionalProperties` and `const`.

    `parametersJsonSchema` takes any JSON schema.
    https://github.com/zed-industries/zed/issues/44875 and https://github.com/openswarm-ai/openswarm/issues/24
    """
    for place, declaration in _declarations(request):
        for at, schema in _schemas(as_object(declaration.get("parameters")), f"{place}.parameters"):
            yield from _check_names(at, schema, SCHEMA)


def functions_for_the_choice(request: Request) -> Iterator[Refusal]:
    """The function calling mode is set only if there are functions.

    https://github.com/pydantic/pydantic-ai/blob/main/pydantic_ai_slim/pydantic_ai/models/google.py
    """
    config = _field(as_object(_field(request.body, "toolConfig")), "functionCallingConfig")
    if config and not list(_declarations(request)):
        yield Refusal("Function calling config is set without function_declarations.")


# Access to the parts of a request


def _field(body: Body, name: str) -> Any:
    """Return a field by its name in camel case, in either spelling."""
    return body.get(name, body.get(_snake(name)))


class Content(NamedTuple):
    """One message of the conversation with its position."""

    place: int
    role: str | None
    parts: list[Body]

    @property
    def calls(self) -> list[Body]:
        return [as_object(call) for part in self.parts if (call := _field(part, "functionCall")) is not None]

    @property
    def responses(self) -> list[Body]:
        return [as_object(each) for part in self.parts if (each := _field(part, "functionResponse")) is not None]


def _contents(request: Request) -> list[Content]:
    found = as_objects(request.body.get("contents"))
    return [Content(index, body.get("role"), as_objects(body.get("parts"))) for index, body in enumerate(found)]


def _declarations(request: Request) -> Iterator[tuple[str, Body]]:
    """Yield every function declaration with its path."""
    for index, tool in enumerate(as_objects(request.body.get("tools"))):
        for position, declaration in enumerate(as_objects(_field(tool, "functionDeclarations"))):
            yield f"tools[{index}].function_declarations[{position}]", declaration


def _schemas(schema: Body, place: str) -> Iterator[tuple[str, Body]]:
    """Yield a schema and all schemas within it, with their path in the notation of the service."""
    yield place, schema
    for index, inner in enumerate(as_object(schema.get("properties")).values()):
        yield from _schemas(as_object(inner), f"{place}.properties[{index}].value")
    for index, inner in enumerate(as_objects(_field(schema, "anyOf"))):
        yield from _schemas(inner, f"{place}.any_of[{index}]")
    if "items" in schema:
        yield from _schemas(as_object(schema["items"]), f"{place}.items")


def _check_names(place: str, given: Body, known: frozenset[str]) -> Iterator[Refusal]:
    """Refuse the fields of an object that the API does not know."""
    at = f" at '{place}'" if place else ""
    for name in given:
        if name not in known:
            yield Refusal(f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.')


def generation(request: Request) -> int:
    """Parse the generation in the name of the model; a name without one counts as the newest."""
    found = GENERATION.match(request.model)
    return int(found[1]) if found else 99


RULES: tuple[Rule, ...] = (
    key_named,
    fields_known,
    contents_given,
    roles_known,
    parts_not_empty,
    calls_after_user,
    responses_after_calls,
    one_response_per_call,
    user_last,
    calls_signed,
    tool_names_well_formed,
    tool_names_unique,
    schemas_supported,
    functions_for_the_choice,
)
"""All rules in the order in which they are applied. Later rules rely on earlier ones."""
