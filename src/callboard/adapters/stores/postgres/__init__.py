"""A store in a PostgreSQL database."""

from .database import PostgresDatabase

__all__ = ["PostgresDatabase"]
