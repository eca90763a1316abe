"""Refusals of invalid values, in the wording of OpenAI's services."""

import re

from ..request import Refusal

NAME = re.compile(r"[a-zA-Z0-9_-]+")


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


def too_long(param: str, value: str, limit: int) -> Refusal:
    return Refusal(
        f"Invalid '{param}': string too long. Expected a string with maximum length {limit}, but got a string with "
        f"length {len(value)} instead.",
        param=param,
        code="string_above_max_length",
    )


def bad_name(param: str, value: str) -> Refusal | None:
    """Refuse a name that is not made of 1 to 64 letters, digits, `_` and `-`."""
    if not NAME.fullmatch(value):
        return Refusal(
            f"Invalid '{param}': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            param=param,
            code="invalid_value",
        )
    return too_long(param, value, 64) if len(value) > 64 else None


def bad_value(param: str, value: object, supported: tuple[str, ...]) -> Refusal:
    names = [f"'{each}'" for each in supported]
    message = f"Invalid value: '{value}'. Supported values are: {', '.join(names[:-1])} and {names[-1]}."
    return Refusal(message, param=param, code="invalid_value")


def missing(param: str) -> Refusal:
    return Refusal(f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")


def no_key(headers: object) -> Refusal | None:
    if isinstance(headers, dict) and "authorization" in headers:
        return None
    return Refusal("You didn't provide an API key.", 401)
