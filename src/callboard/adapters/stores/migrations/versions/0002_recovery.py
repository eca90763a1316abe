"""Indexes that find unfinished executions, and the results of the last group of each store."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    unfinished = sa.text("completed_at IS NULL")
    op.create_index(
        "executions_unfinished",
        "executions",
        ["session_id", "place"],
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )
    op.create_index("executions_owner", "executions", ["owner"], sqlite_where=unfinished, postgresql_where=unfinished)
    op.create_table(
        "batches",
        sa.Column("instance", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("results", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
