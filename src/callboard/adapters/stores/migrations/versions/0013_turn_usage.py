"""The usage of a conversation up to the end of a turn. Turns from before have none."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("turns", sa.Column("usage", sa.Text().with_variant(postgresql.JSONB(), "postgresql")))
