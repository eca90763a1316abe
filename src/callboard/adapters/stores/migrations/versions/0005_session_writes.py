"""The number of writes and the creation time of a session, in the row that writers lock."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("writes", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("sessions", sa.Column("made_at", sa.Double))
    op.execute(
        "UPDATE sessions SET made_at = (SELECT created_at FROM session_tool_state WHERE session_id = sessions.id)"
    )
