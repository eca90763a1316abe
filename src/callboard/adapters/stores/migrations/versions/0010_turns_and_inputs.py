"""Turns and inputs in tables of their own. Before, they were rows of `executions` with the kinds turn and input.

A turn's row had the id `<turn id>.<number>`, an input's the id of the input.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _of_session() -> sa.Column[str]:
    return sa.Column("session_id", _name, sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)


def upgrade() -> None:
    op.create_table(
        "turns",
        _of_session(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("turn_id", _name, nullable=False),
        sa.Column("user_id", _name, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("completed_at", sa.Double),
        sa.Column("owner", _name, nullable=False),
        sa.Column("cancelling", sa.Boolean, nullable=False),
    )
    op.create_table(
        "inputs",
        _of_session(),
        sa.Column("id", _name, primary_key=True),
        sa.Column("user_id", _name, nullable=False),
        sa.Column("received_at", sa.Double, nullable=False),
        sa.Column("delivered_at", sa.Double),
        sa.Column("owner", _name, nullable=False),
    )
    _move_turns()
    op.execute(
        """
        INSERT INTO inputs (session_id, id, user_id, received_at, delivered_at, owner)
        SELECT session_id, id, user_id, queued_at, completed_at, coalesce(owner, '') FROM executions
        WHERE kind = 'input'
        """
    )
    op.execute("DELETE FROM executions WHERE kind IN ('turn', 'input')")
    running, undelivered = sa.text("completed_at IS NULL"), sa.text("delivered_at IS NULL")
    _index("turns_running", "turns", ["session_id", "number"], running)
    _index("turns_owner", "turns", ["owner", "session_id"], running)
    op.create_index(
        "turns_stopping",
        "turns",
        ["owner"],
        sqlite_where=sa.text("cancelling = 1 AND completed_at IS NULL"),  # as queries say it, else it is not used
        postgresql_where=sa.text("cancelling AND completed_at IS NULL"),
    )
    _index("inputs_undelivered", "inputs", ["session_id"], undelivered)
    _index("inputs_owner", "inputs", ["owner", "session_id"], undelivered)


def _move_turns() -> None:
    """Split the ids of turns, and name their statuses. A part that another one follows was paused."""
    # The call id is a control character, "turn " and the number.
    op.execute(
        """
        INSERT INTO turns (session_id, number, turn_id, user_id, status, started_at, completed_at, owner, cancelling)
        SELECT session_id, CAST(substr(call_id, 7) AS BIGINT),
            substr(id, 1, length(id) - length(substr(call_id, 7)) - 1), user_id,
            CASE status WHEN 'succeeded' THEN 'finished' WHEN 'cancelled' THEN 'interrupted' WHEN 'failed' THEN 'failed'
            ELSE 'running' END,
            queued_at, completed_at, coalesce(owner, ''), cancelling
        FROM executions WHERE kind = 'turn'
        """
    )
    op.execute(
        """
        UPDATE turns SET status = 'paused' WHERE status = 'finished' AND EXISTS (
            SELECT 1 FROM turns AS later
            WHERE later.session_id = turns.session_id AND later.number = turns.number + 1
            AND later.turn_id = turns.turn_id
        )
        """
    )


def _index(name: str, table: str, columns: list[str], where: sa.TextClause) -> None:
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
