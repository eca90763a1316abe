"""Inputs of the user on their way to the model.

An input is stored together with its event, before its sender gets a response. A turn delivers it to the model later, in
this process or another. An input with a client's id is accepted once per session.
"""

import hashlib
import secrets
from asyncio import Future
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from ..events.event import encode_event
from ..events.kinds import EventKind
from ..sessions.conversation_scope import ConversationScope
from ..storage.change import Change
from ..storage.errors import Conflict, StoreUnconfirmed
from ..storage.patience import confirmed
from ..storage.rows import IdempotencyRow, InputRow


class Inbox:
    """Accepts the inputs of one session."""

    def __init__(self, scope: ConversationScope, stored_late: Callable[[], None]) -> None:
        self._scope = scope
        self._session = scope.session
        self._stored_late = stored_late
        """Called when an input is stored whose sender got `StoreUnconfirmed`."""

    async def accept(
        self, data: Mapping[str, Any], client_id: str | None = None, idempotency: IdempotencyRow | None = None
    ) -> int:
        """Store an input. Returns the number of its event; 0 where an input with this id was accepted before.

        Raises `AlreadyWritten` or `IdempotencyConflict` where the idempotency key was stored before.
        """
        self._session.touch()
        row = self._row(f"i{secrets.token_hex(8)}" if client_id is None else input_id(client_id))
        event = self._event({name: value for name, value in data.items() if value is not None}, row.id)
        title = self._session.title.from_messages(data.get("text"))
        change = Change(self._session.id, inputs=(row,), events=(event,), idempotency=idempotency, title=title)
        try:
            return await self._write(change)
        except Conflict:
            if client_id is None or not await self._scope.inputs((row.id,)):
                raise
            return 0

    async def accept_all(self, texts: Mapping[str, str]) -> int:
        """Store inputs by their client's ids, in one write. Inputs that were accepted before are left out.

        Returns the number of the newest event; 0 where all of them were accepted before.
        """
        self._session.touch()
        left = dict(texts)
        while left:
            rows = {client_id: self._row(input_id(client_id)) for client_id in left}
            events = [
                self._event({"text": left[client_id], "message_id": client_id}, row.id)
                for client_id, row in rows.items()
            ]
            try:
                title = self._session.title.from_messages(*left.values())
                return await self._write(
                    Change(self._session.id, inputs=tuple(rows.values()), events=events, title=title)
                )
            except Conflict:
                accepted = await self.accepted(tuple(left))
                if not accepted:
                    raise
                left = {client_id: text for client_id, text in left.items() if client_id not in accepted}
        return 0

    async def accepted(self, client_ids: Sequence[str]) -> dict[str, bool]:
        """The inputs that were accepted, by their client's ids, each with whether it was delivered to the model."""
        ids = {input_id(client_id): client_id for client_id in client_ids}
        return {ids[row.id]: row.delivered_at is not None for row in await self._scope.inputs(tuple(ids))}

    def _row(self, row_id: str) -> InputRow:
        """An input that arrives now. It belongs to this process, so that another one can take it over."""
        return InputRow(
            session_id=self._session.id,
            id=row_id,
            user_id=self._session.user_id,
            received_at=self._scope.now(),
            delivered_at=None,
            owner=self._scope.owner,
        )

    def _event(self, data: Mapping[str, Any], row_id: str) -> bytes:
        return encode_event(EventKind.USER_INPUT, self._scope.now(), to_json({**data, "input_id": row_id}))

    async def _write(self, change: Change) -> int:
        writing = self._session.ledger.write(change, lasting=True)
        try:
            number = await confirmed(writing)
            self._session.title.written(change.title)
            return number
        except StoreUnconfirmed:
            writing.add_done_callback(self._written_late)
            raise

    def _written_late(self, writing: "Future[int]") -> None:
        if not writing.cancelled() and writing.exception() is None:
            self._stored_late()


def input_id(client_id: str) -> str:
    """The id of an input, from the client's id for it: a hash, since that id may be any text."""
    return f"i{hashlib.sha256(client_id.encode(errors='surrogatepass')).hexdigest()[:32]}"
