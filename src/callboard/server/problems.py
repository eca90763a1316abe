"""The translation of errors into HTTP problems, with stable codes.

Every error that a route raises is translated here. The text of an unknown error stays in the server's log, because it
may contain details of the host.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException

from ..errors import CallboardError, ErrorCategory, ToolError
from ..events.posting import PostingRefused
from ..events.problems import EventInvalid, EventTooLarge
from ..protocols.problem import Problem
from ..sessions.answers import AnswerInvalid, ArgumentsMismatch
from ..sessions.decision import Decision
from ..sessions.ids import CallIdInvalid, SessionIdInvalid, SessionNotFound
from ..sessions.requests import RequestClosed
from ..storage.errors import Conflict, IdempotencyConflict, StoreError, StoreUnavailable, StoreUnconfirmed, Unstorable

log = logging.getLogger("callboard.server")

RETRY_AFTER = "5"
"""Seconds to wait before repeating a request that the store did not answer."""

_KNOWN = {404: ("not_found", "Not found"), 405: ("method_not_allowed", "Method not allowed")}


def not_found(what: str) -> Problem:
    """Return the problem of a missing resource; the same for a resource of another user."""
    return Problem(404, f"{what}_not_found", "Not found", f"There is no such {what}.")


def draining(detail: str = "The server is shutting down. Try again.") -> Problem:
    """Return the problem of a request during the shutdown."""
    return Problem(503, "draining", "Not available", detail, {"retry-after": "1"})


def decision_info(decision: Decision) -> dict[str, Any]:
    """Return the API's form of a decision, as in `DecisionInfo`."""
    return {
        "outcome": decision.outcome,
        "answer": decision.answer,
        "is_cut": decision.is_cut,
        "answered_by": decision.answered_by,
        "at": None if decision.at is None else datetime.fromtimestamp(decision.at, UTC),
    }


def problem_of(error: Exception) -> Problem:
    """Translate any error into a problem."""
    match error:
        case Problem():
            return error
        case HTTPException():
            return _of_http(error)
        case IdempotencyConflict():
            return Problem(409, error.code, "The key was used for another request", str(error))
        case Unstorable():
            detail = "The store does not accept this data. Nothing was done; the log of the server has the reason."
            return Problem(422, error.code, "Not stored", detail)
        case SessionNotFound() | Conflict():  # the session was deleted in the meantime
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
            known = None if error.decision is None else {"decision": decision_info(error.decision)}
            return Problem(409, error.code, "No longer open", str(error), extensions=known)
        case ArgumentsMismatch():
            return Problem(409, error.code, "The arguments differ", str(error))
        case SessionIdInvalid() | CallIdInvalid():
            return Problem(422, error.code, "Not valid", str(error))
        case StoreUnconfirmed():
            detail = (
                "The store did not confirm the change in time. It may have been written: repeat the request with the "
                "same id, or read the state first."
            )
            return Problem(503, error.code, "Not confirmed", detail, {"retry-after": RETRY_AFTER})
        case StoreUnavailable():
            detail = "The store does not respond. The request had no effect, and will have none; send it again."
            return Problem(503, error.code, "Not available", detail, {"retry-after": RETRY_AFTER})
        case StoreError():
            log.error("the store cannot be used: %s", error)
            return Problem(503, error.code, "Not available", "The store cannot be used; the server's log has details.")
        case _:
            if isinstance(error, CallboardError):  # uvicorn logs any other error
                log.error("a request failed", exc_info=error)
            return Problem(500, "internal", "Internal error", "The server failed; its log has details.")


def _of_http(error: HTTPException) -> Problem:
    code, title = _KNOWN.get(error.status_code, ("http", "Not possible"))
    return Problem(error.status_code, code, title, None, error.headers)


def _printable(problems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"path": str(each.get("path", "")), "message": str(each.get("message", ""))} for each in problems]
