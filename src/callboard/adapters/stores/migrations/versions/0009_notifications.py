"""Notifications between processes on a SQLite file, and an index of executions to cancel by process."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "notifications",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), sa.Identity(), primary_key=True),
        sa.Column("instance", sa.Text, nullable=False),
        sa.Column("session_ids", sa.Text, nullable=False),
    )
    op.create_index(
        "executions_stopping",
        "executions",
        ["owner"],
        sqlite_where=sa.text("cancelling = 1 AND completed_at IS NULL"),  # as queries say it, else it is not used
        postgresql_where=sa.text("cancelling AND completed_at IS NULL"),
    )
