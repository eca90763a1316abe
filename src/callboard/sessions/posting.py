"""Events that are posted into a session: checked, and passed to the part that handles their kind."""

from collections.abc import Mapping
from typing import Any

from ..events.kinds import EventKind
from ..events.routing import Side
from ..storage.rows import IdempotencyRow
from .live_session import LiveSession


async def post_event(
    session: LiveSession,
    event: Mapping[str, Any],
    *,
    side: Side | str = Side.PEOPLE,
    idempotency: IdempotencyRow | None = None,
) -> int:
    """Post an event. See `Session.post`.

    `idempotency` is stored with the event. Raises `AlreadyWritten` or `IdempotencyConflict`, and posts nothing, if
    its key was stored before.
    """
    from ..events.posting import accept

    kind, data = accept(event, Side(side))
    if kind == EventKind.USER_REQUEST:
        return await session.services.workers.handle(session, data, idempotency)
    if kind == EventKind.HUMAN_ANSWER:
        seen = data.get("arguments_hash")
        return await session.answer(data["request_id"], data["answer"], arguments_hash=seen, idempotency=idempotency)
    if kind == EventKind.WALLET_TX_RESPONSE:
        request_id, seen = data.pop("request_id"), data.pop("arguments_hash", None)
        data.pop("answered_by", None)  # the runtime knows
        return await session.answer(request_id, _given(data), arguments_hash=seen, idempotency=idempotency)
    if kind == EventKind.USER_INPUT:
        data = _given(data)
        if (conversation := session.find_conversation()) is not None:
            return await conversation.accept_input(data, idempotency=idempotency)
        return await session.write_event(kind, data, idempotency, session.title.from_messages(data.get("text")))
    return await session.write_event(kind, data, idempotency)


def _given(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value is not None}
