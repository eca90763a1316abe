"""Idempotency keys, so that a repeated request is not carried out twice."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("sessions", sa.Column("last_key", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "idempotency_keys",
        sa.Column("session_id", _name, sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("slot", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("key", _name, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.UniqueConstraint("session_id", "key", name="idempotency_keys_key"),
    )
    op.create_index("idempotency_keys_at", "idempotency_keys", ["at"])
