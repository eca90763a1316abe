"""Documents of users, which tools keep."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "documents",
        sa.Column("user_id", _name, primary_key=True),
        sa.Column("collection", _name, primary_key=True),
        sa.Column("key", _name, primary_key=True),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("writer", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_index("documents_size", "documents", ["user_id", "collection", "size"])
