"""Executions that wait for workers by user, and with their trace contexts."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("executions", sa.Column("trace", sa.Text()))
    waits = sa.text("queue IS NOT NULL AND owner IS NULL AND completed_at IS NULL")
    op.create_index(
        "executions_queued_user",
        "executions",
        ["queue", "user_id", "queued_at"],
        sqlite_where=waits,
        postgresql_where=waits,
    )
