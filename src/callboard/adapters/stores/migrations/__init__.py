"""The history of the tables: one file per revision in `versions`, applied by Alembic inside of a given transaction."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

_FOLDER = Path(__file__).parent


def revisions() -> list[str]:
    """All revisions that this version knows, oldest first."""
    return [script.revision for script in reversed(list(ScriptDirectory(_FOLDER).walk_revisions()))]


def migrate_to(connection: Connection, revision: str) -> None:
    """Apply what lies between the revision of a database and a newer one. The caller commits."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
