"""Queues of executions that wait for workers."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("executions", sa.Column("queue", _name))
    waits = sa.text("queue IS NOT NULL AND owner IS NULL AND completed_at IS NULL")
    op.create_index(
        "executions_queued", "executions", ["queue", "queued_at"], sqlite_where=waits, postgresql_where=waits
    )
