"""Idempotency keys: a repeated request returns the first response and has no further effect.

The key comes from the header `Idempotency-Key` or from an equivalent field of the body. It is stored in the transaction
of the request's own changes (see `storage.change.Change.idempotency`), so that neither a crash before the response nor
another server on the same store runs a request twice.
"""

import hashlib
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar

from pydantic_core import from_json, to_json

from ..errors import CallboardError
from ..execution.storing import fingerprint_of
from ..protocols.problem import Problem
from ..sessions.ids import MAX_ID, is_valid_id
from ..storage.errors import AlreadyWritten, IdempotencyConflict, StoreError
from ..storage.records import IdempotencyRecords
from ..storage.rows import IdempotencyRow
from .endpoint import ApiCall
from .models import Queued

HEADER = "idempotency-key"

T = TypeVar("T")


def idempotency_key(call: ApiCall[Any, Any], given: str | None = None, field: str = "") -> str | None:
    """Return the idempotency key of a request, from the header or a field of the body. Raises `Problem`."""
    sent = call.request.headers.getlist(HEADER)
    if len(sent) > 1:
        raise _invalid("Idempotency-Key was sent more than once.")
    key = _unquoted(sent[0]) if sent else None
    if key is not None and not is_valid_id(key):
        raise _invalid(f"Idempotency-Key must have 1 to {MAX_ID} printable characters.")
    if given is None:
        return key
    if not is_valid_id(given):
        raise Problem(422, "invalid", "Not valid", f"{field} must have 1 to {MAX_ID} printable characters.")
    if key not in (None, given):
        raise Problem(422, "invalid", "Not valid", f"Idempotency-Key and {field} differ. Send one of them.")
    return given


async def run_once(
    call: ApiCall[Any, Any],
    session_id: str,
    key: str | None,
    act: Callable[[IdempotencyRow | None], Awaitable[T]],
    again: Callable[[IdempotencyRow], Awaitable[T]],
    *,
    ignored_fields: Collection[str] = (),
) -> T:
    """Run a request, or repeat the response of the first run with its key. Raises `IdempotencyConflict`.

    `act` stores the row with its own changes. `again` rebuilds the response from a stored row. The two requests must
    agree in everything but `ignored_fields`: the field of the body that may carry the key, and what is not stored.
    """
    if key is None:
        return await act(None)
    body = call.body.model_dump(mode="json", exclude=set(ignored_fields))
    request = to_json([call.request.method, call.request.url.path, body], inf_nan_mode="constants")
    row = IdempotencyRow(key=key, fingerprint=fingerprint_of(request), at=call.services.runtime.clock.time())
    store = call.services.runtime.store
    if (known := await _first_run(store, session_id, row)) is not None:
        return await again(known)
    try:
        return await act(row)
    except AlreadyWritten as earlier:  # a concurrent repeat, here or at another server, was stored first
        return await again(earlier.row)
    except StoreError:
        raise
    except CallboardError:  # such as a request that is closed: perhaps by a concurrent repeat
        if (known := await _first_run(store, session_id, row)) is None:
            raise
        return await again(known)


async def _first_run(store: IdempotencyRecords, session_id: str, row: IdempotencyRow) -> IdempotencyRow | None:
    """Return the stored row of the first run of a request, if any. Raises `IdempotencyConflict`."""
    known = await store.idempotency(session_id, row.key)
    if known is not None and known.fingerprint != row.fingerprint:
        raise IdempotencyConflict(row.key)
    return known


def stored_answer(row: IdempotencyRow) -> dict[str, Any]:
    """Return the stored fields of a response."""
    return from_json(row.answer) or {}


async def queued_again(row: IdempotencyRow) -> Queued:
    """Rebuild the response of a request that wrote an event."""
    return Queued(seq=row.seq or 0)


def derived_id(user_id: str, key: str) -> str:
    """Return the id of a session that is created under a key without an id: the same for every repeat."""
    return f"s{hashlib.sha256(to_json([user_id, key])).hexdigest()[:24]}"


def _unquoted(text: str) -> str:
    """Remove the quotes of a header that is written as a quoted string."""
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text


def _invalid(detail: str) -> Problem:
    return Problem(400, "idempotency_key_invalid", "Not valid", detail)
