"""Run by Alembic for every command, on the given connection and in its open transaction."""

from alembic import context

from callboard.adapters.stores.tables import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
