"""A request to a person as users see it: plain values instead of a stored row."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from pydantic_core import from_json

from ..storage.rows import RequestRow
from ..types import RequestPurpose
from .answers import arguments_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """A request that waits for a person's answer. Answer it with `Session.answer`."""

    id: str
    """Id of the request."""
    execution_id: str
    """Execution that waits for the answer."""
    kind: str
    """Kind of its event: `human_request` or `wallet_tx_request`."""
    purpose: RequestPurpose
    """Purpose of the answer: to approve the call, for example, or to be its result."""
    tool: str
    """Name of the tool that asks."""
    payload: Any
    """Arguments of the call, with secrets masked."""
    answer_schema: dict[str, Any]
    """JSON schema of the answer."""
    arguments_hash: str
    """Hash of the request as it is shown. Pass it to `Session.answer` to bind the answer to these arguments."""
    created_at: datetime
    """When the request was made."""
    expires_at: datetime | None
    """None: it does not expire."""

    @classmethod
    def from_row(cls, row: RequestRow) -> Self:
        """Parse a stored row."""
        return cls(id=row.id, **request_fields(row))


def request_fields(row: RequestRow) -> dict[str, Any]:
    """Return the fields of an `OpenRequest`, except its id, from a stored row."""
    return {
        "execution_id": row.execution_id,
        "kind": row.kind,
        "purpose": RequestPurpose(row.purpose),
        "tool": row.tool,
        "payload": from_json(row.payload),
        "answer_schema": from_json(row.schema),
        "arguments_hash": arguments_hash(row),
        "created_at": datetime.fromtimestamp(row.created_at, UTC),
        "expires_at": None if row.expires_at is None else datetime.fromtimestamp(row.expires_at, UTC),
    }
