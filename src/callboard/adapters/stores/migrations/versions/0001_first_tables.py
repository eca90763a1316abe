"""The first tables: sessions with their records, and the processes that own executions."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
document = sa.Text().with_variant(postgresql.JSONB(), "postgresql")
exact_document = sa.Text().with_variant(postgresql.JSON(), "postgresql")
number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def of_session() -> sa.ForeignKey:
    return sa.ForeignKey("sessions.id", ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", name, primary_key=True),
        sa.Column("channel", sa.Text),
        sa.Column("allow", document),
        sa.Column("open", sa.Boolean, nullable=False),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("first_seq", sa.BigInteger, nullable=False),
        sa.Column("last_entry", sa.BigInteger, nullable=False),
        sa.Column("last_execution", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "session_tool_state",
        sa.Column("session_id", name, of_session(), primary_key=True),
        sa.Column("user_id", name, nullable=False),
        sa.Column("namespaces", document),
        sa.Column("available_tools", document, nullable=False),
        sa.Column("unconsumed_results", document, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )
    op.create_index("session_tool_state_user", "session_tool_state", ["user_id", "session_id"])
    op.create_table(
        "events",
        sa.Column("session_id", name, of_session(), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("body", document, nullable=False),
    )
    op.create_table(
        "executions",
        sa.Column("session_id", name, of_session(), primary_key=True),
        sa.Column("place", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("id", name, nullable=False),
        sa.Column("user_id", name, nullable=False),
        sa.Column("call_id", name, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("document", sa.LargeBinary),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("shown", document, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("priority", sa.BigInteger, nullable=False),
        sa.Column("attempt", sa.BigInteger, nullable=False),
        sa.Column("max_attempts", sa.BigInteger, nullable=False),
        sa.Column("errors", document, nullable=False),
        sa.Column("value", document),
        sa.Column("error", document),
        sa.Column("late", sa.Boolean, nullable=False),
        sa.Column("parent_id", sa.Text),
        sa.Column("queued_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("completed_at", sa.Double),
        sa.Column("owner", name),
        sa.Column("cancelling", sa.Boolean, nullable=False),
        sa.UniqueConstraint("session_id", "id", name="executions_id"),
        sa.UniqueConstraint("session_id", "call_id", name="executions_call"),
    )
    op.create_table(
        "requests",
        sa.Column("place", number, sa.Identity(), primary_key=True),
        sa.Column("id", name, nullable=False),
        sa.Column("session_id", name, of_session(), nullable=False),
        sa.Column("user_id", name, nullable=False),
        sa.Column("execution_id", name, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("payload", document, nullable=False),
        sa.Column("schema", document, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("answer", document),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("answered_at", sa.Double),
        sa.UniqueConstraint("id", name="requests_id"),
    )
    op.create_index("requests_execution", "requests", ["session_id", "execution_id"])
    op.create_index("requests_user", "requests", ["user_id", "place"])
    op.create_table(
        "transcript",
        sa.Column("session_id", name, of_session(), primary_key=True),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("entry", exact_document, nullable=False),
    )
    op.create_table(
        "owners",
        sa.Column("id", name, primary_key=True),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("beat", sa.BigInteger, nullable=False),
    )
