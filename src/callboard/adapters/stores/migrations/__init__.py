"""The history of the tables: one file per revision in `versions`, which Alembic applies inside a given transaction."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

_FOLDER = Path(__file__).parent


def revisions() -> list[str]:
    """Return all revisions that this version knows, oldest first."""
    return [script.revision for script in reversed(list(ScriptDirectory(_FOLDER).walk_revisions()))]


def migrate_to(connection: Connection, revision: str) -> None:
    """Migrate a database to a newer revision. The caller commits."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
