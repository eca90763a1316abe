"""Checks that OpenAI's two APIs share, with refusals in the wording of the service."""

import re
from collections.abc import Iterator

from ..request import Body, Refusal, Request
from .json_access import as_list, as_object, subschemas

NAME = re.compile(r"[a-zA-Z0-9_-]+")
ID_LIMIT = 64
TOP_LEVEL = frozenset({"oneOf", "anyOf", "allOf", "enum", "not"})
NOT_STRICT = ("allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else")


def key_named(request: Request) -> Iterator[Refusal]:
    """A request has a key.

    https://platform.openai.com/docs/api-reference/authentication
    """
    if "authorization" not in request.headers:
        yield Refusal("You didn't provide an API key.", 401)


def missing(param: str) -> Refusal:
    return Refusal(f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")


def empty_array(param: str) -> Refusal:
    message = (
        f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    )
    return Refusal(message, param=param, code="empty_array")


def array_too_long(param: str, count: int, limit: int) -> Refusal:
    message = (
        f"Invalid '{param}': array too long. Expected an array with maximum length {limit}, but got an array with "
        f"length {count} instead."
    )
    return Refusal(message, param=param, code="array_above_max_length")


def bad_value(param: str, value: object, supported: tuple[str, ...]) -> Refusal:
    names = [f"'{each}'" for each in supported]
    message = f"Invalid value: '{value}'. Supported values are: {', '.join(names[:-1])} and {names[-1]}."
    return Refusal(message, param=param, code="invalid_value")


def check_length(param: str, value: str, limit: int = ID_LIMIT) -> Iterator[Refusal]:
    if len(value) > limit:
        yield Refusal(
            f"Invalid '{param}': string too long. Expected a string with maximum length {limit}, but got a string with "
            f"length {len(value)} instead.",
            param=param,
            code="string_above_max_length",
        )


def check_name(param: str, function: Body) -> Iterator[Refusal]:
    """Refuse the name of a function that is not made of 1 to 64 letters, digits, `_` and `-`."""
    name = str(function.get("name", ""))
    if not NAME.fullmatch(name):
        yield Refusal(
            f"Invalid '{param}': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            param=param,
            code="invalid_value",
        )
    yield from check_length(param, name)


def check_schema(param: str, function: Body) -> Iterator[Refusal]:
    """Refuse the schema of a function that is no object, or not strict although the function is."""
    for complaint in _complaints(as_object(function["parameters"]), strict=function.get("strict") is True):
        message = f"Invalid schema for function '{function.get('name')}': {complaint}"
        yield Refusal(message, param=param, code="invalid_function_parameters")


def _complaints(schema: Body, *, strict: bool) -> Iterator[str]:
    if schema.get("type") != "object" or TOP_LEVEL & schema.keys():
        yield "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    for at, inner in subschemas(schema):
        if inner.get("type") == "array" and "items" not in inner:
            yield f"In context={at}, array schema missing items."
    for at, inner in subschemas(schema) if strict else ():
        if "$ref" in inner and (beside := inner.keys() - {"$ref"}):
            yield f"context={at}, $ref cannot have keywords {beside}."
        for keyword in NOT_STRICT:
            if keyword in inner:
                yield f"In context={at}, '{keyword}' is not permitted."
        if inner.get("type") == "object":
            if inner.get("additionalProperties") is not False:
                yield f"In context={at}, 'additionalProperties' is required to be supplied and to be false."
            required = as_list(inner.get("required"))
            for name in as_object(inner.get("properties")):
                if name not in required:
                    yield (
                        f"In context={at}, 'required' is required to be supplied and to be an array including every "
                        f"key in properties. Missing '{name}'."
                    )
