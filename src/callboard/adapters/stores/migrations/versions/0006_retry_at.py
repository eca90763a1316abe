"""Store when the next attempt of an execution may begin; repair sessions without a creation time.

A process of revision 0004 that was still running when revision 0005 was applied stored sessions without `made_at`.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("executions", sa.Column("retry_at", sa.Double))
    op.execute(
        "UPDATE sessions SET made_at = (SELECT created_at FROM session_tool_state WHERE session_id = sessions.id)"
        " WHERE made_at IS NULL"
    )
