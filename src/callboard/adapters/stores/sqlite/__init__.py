"""A store in a SQLite file."""

from .database import SqliteDatabase

__all__ = ["SqliteDatabase"]
