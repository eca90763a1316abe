"""The purpose of a request. Before, it was guessed from the kind of its event and the schema of its answer."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_APPROVAL = {"approved", "arguments", "reason"}
"""The properties of an approval."""
_FRONT_END = {"title": "Result of the page's tool", "description": "What the page made of the call; any JSON value."}
"""The schema of what a page answers."""

_requests = sa.table("requests", sa.column("kind", sa.Text), sa.column("purpose", sa.Text), sa.column("schema"))


def upgrade() -> None:
    op.add_column("requests", sa.Column("purpose", sa.Text, nullable=False, server_default="question"))
    connection = op.get_bind()
    text = sa.cast(_requests.c.schema, sa.Text)
    for kind, schema in connection.execute(sa.select(_requests.c.kind, text).distinct()).all():
        purpose = _purpose(kind, schema)
        if purpose != "question":
            change = sa.update(_requests).where(_requests.c.kind == kind, text == schema)
            connection.execute(change.values(purpose=purpose))


def _purpose(kind: str, schema: str) -> str:
    if kind == "wallet_tx_request":
        return "wallet"
    try:
        found: dict[str, Any] = json.loads(schema)
        if found == _FRONT_END:
            return "front_end_tool"
        return "approval" if found.get("properties", {}).keys() == _APPROVAL else "question"
    except (ValueError, AttributeError):  # not an object
        return "question"
