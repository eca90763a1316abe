"""Errors as problem documents (RFC 9457): what went wrong, in words that may leave the house, under stable codes.

Every error that the routes meet is translated here, once. What is not known to be fit for strangers is not shown: they
read that something failed, and the operators' log has the rest.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ..errors import CallboardError, ErrorCategory, ToolError
from ..events.posting import PostingRefused
from ..events.problems import EventInvalid, EventTooLarge
from ..sessions.answers import AnswerInvalid, ArgumentsMismatch
from ..sessions.ids import CallIdInvalid, SessionIdInvalid, SessionNotFound
from ..sessions.requests import RequestClosed
from ..shortening import shorten
from ..storage.errors import Conflict, IdempotencyConflict, StoreError, StoreUnavailable, StoreUnconfirmed

log = logging.getLogger("callboard.server")

MEDIA_TYPE = "application/problem+json"
MAX_ERRORS = 20
MAX_TEXT = 2_000
RETRY_AFTER = "5"
"""Seconds after which one may ask a store again that did not answer."""


class Problem(CallboardError):
    """An answer that says why there is no other one. Raise it anywhere in a request."""

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str | None = None,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(detail or title)
        self.status = status
        self.code = code
        """What programs go by. It never changes its meaning."""
        self.title = title
        self.detail = detail
        self.headers = dict(headers or {})
        self.errors = list(errors)[:MAX_ERRORS]
        """What is wrong, and at which path."""

    def document(self) -> dict[str, Any]:
        """The problem as JSON data."""
        shown: dict[str, Any] = {
            "type": f"urn:callboard:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
        }
        if self.detail is not None:
            shown["detail"] = shorten(self.detail, MAX_TEXT)
        if self.errors:
            shown["errors"] = self.errors
        return shown

    def response(self) -> Response:
        """The problem as an answer."""
        body = to_json(self.document(), inf_nan_mode="null", serialize_unknown=True)
        return Response(body, self.status, self.headers, MEDIA_TYPE)


def not_found(what: str) -> Problem:
    """Something is not there, or it is somebody else's: the two look the same."""
    return Problem(404, f"{what}_not_found", "Not found", f"There is no such {what}.")


def draining(detail: str = "The server is ending. Try again.") -> Problem:
    """The server ends."""
    return Problem(503, "draining", "Not available", detail, {"retry-after": "1"})


def invalid(error: ValidationError, where: str) -> Problem:
    """What a caller sent does not have the shape that is wanted."""
    entries = error.errors(include_url=False, include_context=False, include_input=False)
    if entries[0]["type"] == "json_invalid":
        return Problem(400, "json_invalid", "Not valid JSON", f"The {where} is not valid JSON: {entries[0]['msg']}.")
    errors = [{"path": _path(entry["loc"]), "message": f"{entry['msg']}."} for entry in entries[:MAX_ERRORS]]
    return Problem(422, "invalid", "Not valid", f"The {where} does not have the shape that is wanted.", errors=errors)


def too_many_errors(where: str) -> Problem:
    """What a caller sent has so many errors that they are not listed."""
    return Problem(422, "invalid", "Not valid", f"The {where} has too many errors to list them.")


def problem_of(error: Exception) -> Problem:
    """What a caller is told about an error."""
    match error:
        case Problem():
            return error
        case HTTPException():
            return _of_http(error)
        case IdempotencyConflict():
            return Problem(409, error.code, "The key was used for something else", str(error))
        case SessionNotFound() | Conflict():  # nothing can be written to one that was deleted meanwhile
            return not_found("session")
        case ToolError() if error.category is ErrorCategory.NOT_FOUND:
            return Problem(404, "not_found", "Not found", error.message)
        case ToolError():
            return Problem(422, f"tool_{error.category}", "The call failed", error.message)
        case PostingRefused():
            return Problem(403, error.code, "Not allowed", str(error))
        case EventTooLarge():
            return Problem(413, error.code, "Too large", error.problems[0]["message"])
        case EventInvalid() | AnswerInvalid():
            return Problem(422, error.code, "Not valid", str(error), errors=_printable(error.problems))
        case RequestClosed():
            return Problem(409, error.code, "Not open any more", str(error))
        case ArgumentsMismatch():
            return Problem(409, error.code, "Not what was asked", str(error))
        case SessionIdInvalid() | CallIdInvalid():
            return Problem(422, error.code, "Not valid", str(error))
        case StoreUnconfirmed():
            detail = (
                "The store did not confirm in time. It may have been done: repeat it with the same id, or look how "
                "things stand first."
            )
            return Problem(503, error.code, "Not confirmed", detail, {"retry-after": RETRY_AFTER})
        case StoreUnavailable():
            detail = "The store does not answer at the moment. Nothing was done, and nothing will be; try again."
            return Problem(503, error.code, "Not available", detail, {"retry-after": RETRY_AFTER})
        case StoreError():
            log.error("the store cannot be used: %s", error)
            return Problem(503, error.code, "Not available", "The store cannot be used. The server's log says why.")
        case _:
            if isinstance(error, CallboardError):  # any other is raised again, and logged by the server
                log.error("a request failed", exc_info=error)
            return Problem(500, "internal", "The server failed", "Something failed here. The server's log says what.")


def _of_http(error: HTTPException) -> Problem:
    code, title = _KNOWN.get(error.status_code, ("http", "Not possible"))
    return Problem(error.status_code, code, title, None, error.headers)


_KNOWN = {404: ("not_found", "Not found"), 405: ("method_not_allowed", "Not allowed here")}


def _printable(problems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"path": str(each.get("path", "")), "message": str(each.get("message", ""))} for each in problems]


def _path(location: Sequence[int | str]) -> str:
    """A place in a document as people write it: `event.lines[0]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return shorten("".join(parts).removeprefix("."), 200)
