"""How often a session was written: what is newer is told by that, not by the clocks of several machines."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("writes", sa.BigInteger, nullable=False, server_default="0"))
