"""Rows for turns and inputs. Each belongs to a process, so that another one can take it over."""

import hashlib
import secrets

from ..sessions.conversation_scope import ConversationScope
from ..storage.rows import RUNNING, InputRow, TurnRow


def new_turn(scope: ConversationScope, turn_id: str, number: int) -> TurnRow:
    """A turn, or a part of it, that starts now."""
    return TurnRow(
        session_id=scope.session.id,
        number=number,
        turn_id=turn_id,
        user_id=scope.session.user_id,
        status=RUNNING,
        started_at=scope.now(),
        completed_at=None,
        owner=scope.owner,
    )


def new_input(scope: ConversationScope, client_id: str | None = None) -> InputRow:
    """An input that arrives now. Without an id of the client's, it gets a random one."""
    return InputRow(
        session_id=scope.session.id,
        id=f"i{secrets.token_hex(8)}" if client_id is None else input_id(client_id),
        user_id=scope.session.user_id,
        received_at=scope.now(),
        delivered_at=None,
        owner=scope.owner,
    )


def input_id(client_id: str) -> str:
    """The id of an input, from the client's id for it: a hash, since that id may be any text."""
    return f"i{hashlib.sha256(client_id.encode(errors='surrogatepass')).hexdigest()[:32]}"
