"""Requests that a client repeats: what was written under its id is answered again, and not written again.

The id comes in the header `Idempotency-Key`, or in a field of the body that means the same. It is stored in one
transaction with what the request writes (see `storage.port.Change.idempotency`), so that neither a crash before the
response nor another server on the same store carries a request out twice.
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import from_json, to_json

from ..execution.storing import fingerprint_of
from ..protocols.problem import Problem
from ..sessions.ids import MAX_ID, is_call_id
from ..storage.port import AlreadyWritten, IdempotencyConflict
from ..storage.rows import IdempotencyRow

if TYPE_CHECKING:
    from .endpoint import Call

HEADER = "idempotency-key"

T = TypeVar("T")


def key_of(call: "Call[Any, Any]", given: str | None = None, field: str = "") -> str | None:
    """The client's id of a request: from the header, or from a field of the body. Raises `Problem`."""
    sent = call.request.headers.getlist(HEADER)
    if len(sent) > 1:
        raise _invalid("Idempotency-Key is given more than once.")
    key = _unquoted(sent[0]) if sent else None
    if key is not None and not is_call_id(key):
        raise _invalid(f"Idempotency-Key must have 1 to {MAX_ID} printable characters.")
    if given is None:
        return key
    if not is_call_id(given):
        raise Problem(422, "invalid", "Not valid", f"{field} must have 1 to {MAX_ID} printable characters.")
    if key not in (None, given):
        raise Problem(422, "invalid", "Not valid", f"Idempotency-Key and {field} differ. Give one of them.")
    return given


def row_of(call: "Call[Any, Any]", key: str | None, *without: str) -> IdempotencyRow | None:
    """What is to be stored of a request under its key; None where it has none.

    The fingerprint is that of the whole request, without the fields that only carry the key.
    """
    if key is None:
        return None
    body = call.body.model_dump(mode="json", exclude=set(without))
    request = [call.request.method, call.request.url.path, body]
    fingerprint = fingerprint_of(to_json(request, inf_nan_mode="constants"))
    return IdempotencyRow(key=key, fingerprint=fingerprint, at=call.services.runtime.clock.time())


async def once(
    call: "Call[Any, Any]",
    session_id: str,
    row: IdempotencyRow | None,
    act: Callable[[IdempotencyRow | None], Awaitable[T]],
    again: Callable[[IdempotencyRow], Awaitable[T]],
) -> T:
    """Carry a request out, or answer it again as it was answered before. Raises `IdempotencyConflict`.

    What `act` writes, it writes together with the row. `again` makes the answer of the row that was stored.
    """
    if row is None:
        return await act(None)
    known = await call.services.runtime.store.idempotency(session_id, row.key)
    if known is not None:
        if known.fingerprint != row.fingerprint:
            raise IdempotencyConflict(row.key)
        return await again(known)
    try:
        return await act(row)
    except AlreadyWritten as earlier:  # a repeat overtook the first, or another server has it
        return await again(earlier.row)


def answer_of(row: IdempotencyRow) -> dict[str, Any]:
    """What was answered beside the number."""
    return from_json(row.answer) or {}


def seq_of(row: IdempotencyRow) -> int:
    """The number that was answered."""
    return row.seq or 0


def derived_id(user_id: str, key: str) -> str:
    """The id of a session that a user makes under a key without choosing one: the same for every repeat."""
    return f"s{hashlib.sha256(to_json([user_id, key])).hexdigest()[:24]}"


def _unquoted(text: str) -> str:
    """A header may be written as a quoted string."""
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text


def _invalid(detail: str) -> Problem:
    return Problem(400, "idempotency_key_invalid", "Not valid", detail)
