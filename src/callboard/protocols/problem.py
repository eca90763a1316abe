"""The HTTP problem document of RFC 9457: one type for the server and for every protocol that it serves.

The text of a problem is safe to show to any client. `server.problems` translates errors into problems.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.responses import Response

from ..errors import CallboardError
from ..shortening import shorten

MEDIA_TYPE = "application/problem+json"
MAX_ERRORS = 20
MAX_TEXT = 2_000


class Problem(CallboardError):
    """An error response. Raise it anywhere in a request."""

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str | None = None,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
        extensions: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail or title)
        self.status = status
        self.code = code
        """A stable identifier for programs. It never changes its meaning."""
        self.title = title
        self.detail = detail
        self.headers = dict(headers or {})
        self.errors = list(errors)[:MAX_ERRORS]
        """The violations, each with its path and message."""
        self.extensions = dict(extensions or {})
        """Further members of the document, which depend on the code."""

    def document(self) -> dict[str, Any]:
        """Return the problem as JSON data."""
        document: dict[str, Any] = {
            "type": f"urn:callboard:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
        }
        if self.detail is not None:
            document["detail"] = shorten(self.detail, MAX_TEXT)
        if self.errors:
            document["errors"] = self.errors
        return {**self.extensions, **document}

    def response(self) -> Response:
        """Return the problem as a response."""
        body = to_json(self.document(), inf_nan_mode="null", serialize_unknown=True)
        return Response(body, self.status, self.headers, MEDIA_TYPE)


def body_too_large(size: int) -> Problem:
    """Return the problem of a body with more than `size` bytes."""
    return Problem(413, "body_too_large", "Too large", f"The body of this request may have at most {size:,} bytes.")


def too_many_values(count: int) -> Problem:
    """Return the problem of a JSON body with more than `count` values."""
    detail = f"A body may have at most {count:,} values: keys, strings, numbers, arrays and objects."
    return Problem(413, "too_many_values", "Too large", detail)


def media_type_not_json() -> Problem:
    """Return the problem of a body that is not declared as JSON."""
    detail = "The body must be JSON, with the header Content-Type: application/json."
    return Problem(415, "media_type", "Unsupported media type", detail)


def json_invalid(reason: str) -> Problem:
    """Return the problem of a body or query that is not JSON."""
    return Problem(400, "json_invalid", "Not valid JSON", reason)


def invalid(error: ValidationError, where: str) -> Problem:
    """Return the problem of a body or query that its model rejects."""
    entries = error.errors(include_url=False, include_context=False, include_input=False)
    if entries[0]["type"] == "json_invalid":
        return json_invalid(f"The {where} is not valid JSON: {entries[0]['msg']}.")
    return Problem(422, "invalid", "Not valid", f"The {where} is not valid.", errors=violations(error))


def violations(error: ValidationError) -> list[dict[str, str]]:
    """Return the first violations that Pydantic found, without the values themselves."""
    entries = error.errors(include_url=False, include_context=False, include_input=False)
    return [{"path": _path(entry["loc"]), "message": f"{entry['msg']}."} for entry in entries[:MAX_ERRORS]]


def _path(location: Sequence[int | str]) -> str:
    """Write a location as `event.lines[0]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return shorten("".join(parts).removeprefix("."), 200)
