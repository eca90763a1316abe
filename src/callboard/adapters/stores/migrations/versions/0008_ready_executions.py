"""An index that finds executions without an owner that can continue, however many others wait for people."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("executions", sa.Column("ready", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute(
        """
        UPDATE executions SET ready = true
        WHERE owner IS NULL AND completed_at IS NULL AND (
            cancelling
            OR EXISTS (
                SELECT 1 FROM requests
                WHERE requests.session_id = executions.session_id AND requests.execution_id = executions.id
                AND requests.status = 'answered'
            )
            OR (
                EXISTS (
                    SELECT 1 FROM requests
                    WHERE requests.session_id = executions.session_id AND requests.execution_id = executions.id
                )
                AND NOT EXISTS (
                    SELECT 1 FROM requests
                    WHERE requests.session_id = executions.session_id AND requests.execution_id = executions.id
                    AND requests.status = 'open'
                )
            )
        )
        """
    )
    unfinished, ready, waits = sa.text("completed_at IS NULL"), sa.text("ready"), sa.text("status = 'open'")
    op.drop_index("executions_owner", "executions")
    op.create_index(
        "executions_owner",
        "executions",
        ["owner", "session_id", "id"],
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )
    op.create_index("executions_ready", "executions", ["session_id", "id"], sqlite_where=ready, postgresql_where=ready)
    op.create_index("requests_expiry", "requests", ["expires_at"], sqlite_where=waits, postgresql_where=waits)
