"""Run by Alembic for every command: it works on the connection that it was given, in the transaction that is open."""

from alembic import context

from callboard.adapters.stores.tables import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
