"""A store in a SQLite file."""
