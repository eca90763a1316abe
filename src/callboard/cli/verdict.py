"""The answer to a request, as a user means it, and whether it is what the request asks for."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from ..events.kinds import EventKind
from ..runtime import Runtime
from ..sessions.answers import AnswerInvalid
from ..sessions.ids import SessionNotFound
from ..shortening import shorten
from ..storage.rows import RequestRow
from ..tools.problems import Problem, abbreviate, path_of
from ..tools.schema_arguments import validator

EXAMPLE = '{"status": "confirmed", "transaction_hash": "0x12ab"}'


def verdict(row: RequestRow, approved: bool, reason: str | None, arguments: Any) -> Any:
    """The answer that a word means for a request. Raises `AnswerInvalid` where it asks for something else."""
    if row.kind == EventKind.WALLET_TX_REQUEST:
        if approved:
            raise AnswerInvalid(f"A wallet cannot be answered for by --approve. Say what became of it: {EXAMPLE}")
        return {"status": "rejected", **({} if reason is None else {"detail": reason})}
    if "approved" not in _properties(row):
        raise AnswerInvalid(f"The request of {row.tool} is for an answer and not for an approval; give it as JSON.")
    given = {"arguments": arguments, "reason": reason}
    return {"approved": approved, **{name: value for name, value in given.items() if value is not None}}


def check(row: RequestRow, answer: Any) -> None:
    """Hold an answer against the schema that is stored with its request. Raises `AnswerInvalid`."""
    errors = validator(from_json(row.schema), "stored").iter_errors(answer)
    if problems := [_problem(error) for error in errors]:
        raise AnswerInvalid("The answer is not what is asked for.", problems)


async def give(runtime: Runtime, row: RequestRow, answer: Any, seen: str) -> int:
    """Close a request with an answer that was given for what has a hash. Returns the number of its event, once stored.

    Only the runtime's store has to be open: its tools are not started, and nothing runs in it. The session is read and
    not opened, so that nobody is logged in by an answer. Raises `RequestClosed`, or `ArgumentsMismatch` and
    `AnswerInvalid`, after which the request is still open.
    """
    await runtime.sessions.start()
    try:
        session = await runtime.sessions.load(row.session_id)
        if session is None:
            raise SessionNotFound(f"The session {row.session_id!r} was removed.")
        return await session.answer(row.id, answer, arguments_hash=seen)
    finally:
        await runtime.sessions.stop()


def _properties(row: RequestRow) -> Mapping[str, Any]:
    return from_json(row.schema).get("properties", {})


def _problem(error: Any) -> Problem:
    location: list[int | str] = list(error.instance_path)
    message, received = f"{shorten(error.message)}.", abbreviate(error.instance)
    kind = type(error.kind).__name__.rpartition("_")[2]
    if kind == "Required":
        location.append(error.kind.property)
        message, received = "This property is required and was not given.", None
    elif kind in ("AdditionalProperties", "UnevaluatedProperties"):
        names = ", ".join(map(repr, error.kind.unexpected))
        message, received = f"There is no such property: {shorten(names)}. Leave it out.", None
    return Problem(path=path_of(location), message=message, received=received)
