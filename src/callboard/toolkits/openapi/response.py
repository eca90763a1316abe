"""The response of an operation: its content as the result, or an error that a model can act on. No I/O."""

import json
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

from callboard import ToolError

from ..http import FetchResult
from ..http.json_text import read_json
from ..http.response import INTERRUPTED

MAX_REASON = 500
MAX_TARGET = 300
REDIRECTS = (301, 302, 303, 307, 308)
_CATEGORIES = {
    400: "validation",
    401: "configuration",
    403: "permission",
    404: "not_found",
    405: "configuration",
    408: "timeout",
    410: "not_found",
    422: "validation",
    429: "rate_limited",
    504: "timeout",
}
_MESSAGES = {
    401: "The service refuses its credentials.",
    403: "The service does not allow this.",
    404: "The service has no such thing.",
    429: "The service limits its requests.",
}
_REASONS = ("detail", "message", "error_description", "error", "title", "msg", "errors")


def read_response(answer: FetchResult, *, is_idempotent: bool) -> Any:
    """Return the content of a response: JSON as data, other text as it is, with a note if a part of it is missing.

    Raises `ToolError` for an error status, and for an answer that cannot be used.
    """
    if answer.status >= 400 or answer.status in REDIRECTS:
        raise _error(answer)
    if answer.truncated and (category := INTERRUPTED.get(answer.note)) is not None:
        raise _interrupted(answer, category, is_idempotent)
    kind = (answer.content_type or "").partition(";")[0].strip().lower()
    if not kind.endswith(("/json", "+json")):
        if answer.truncated and answer.text:
            return f"[This answer is not complete. {answer.note}]\n\n{answer.text}"
        return answer.text or answer.note
    if answer.note is not None:
        message = f"The answer cannot be read. {answer.note} If it is too large, ask for less, such as a page of it."
        raise ToolError(message, category="permanent")
    try:
        return read_json(answer.text) if answer.text else None
    except (ValueError, RecursionError):
        raise ToolError("The service answered with JSON that is not valid.", category="permanent") from None


def _interrupted(answer: FetchResult, category: str, is_idempotent: bool) -> ToolError:
    message = f"The service answered with status {answer.status}, but a part of the answer is missing. {answer.note}"
    if not is_idempotent:
        message += " The request probably had its effect: check that before you repeat it."
    return ToolError(message, category=category, retryable=None if is_idempotent else False)


def _error(answer: FetchResult) -> ToolError:
    status = answer.status
    category = _CATEGORIES.get(status, "transient" if status >= 500 else "permanent")
    message = _MESSAGES.get(status, f"The service answered with status {status}.")
    if status in REDIRECTS and (target := _target(answer)):
        message = (
            f"The service redirects to {target} (status {status}). That was not followed, because the body would not "
            "be sent there. Check whether the request had an effect before you repeat it."
        )
    elif reason := _reason(answer.text):
        message = f"{message} It says: {reason}"
    after = answer.headers.get("retry-after", "")
    return ToolError(
        message,
        category=category,
        retry_after=float(after) if after.isdecimal() and len(after) < 7 else None,
        report=f"status {status} of {answer.url.partition('?')[0]}",
    )


def _target(answer: FetchResult) -> str:
    """The address of a redirect, without the parts that may hold a secret. Empty if there is none."""
    if not (location := answer.headers.get("location")):
        return ""
    try:
        target = urlsplit(urljoin(answer.url, location))
    except ValueError:
        return ""
    return f"{target.scheme}://{target.netloc.rpartition('@')[2]}{target.path}"[:MAX_TARGET]


def _reason(text: str) -> str:
    """The reason in a body: of a JSON object its usual field, of anything else the beginning."""
    try:
        read = read_json(text)
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, dict):
        fields = cast("dict[str, Any]", read)
        found = next((fields[name] for name in _REASONS if fields.get(name)), fields)
        text = found if isinstance(found, str) else json.dumps(found)
    elif text.lstrip().startswith("<"):
        return ""  # a page for people
    text = " ".join(text[: 4 * MAX_REASON].split())
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"
