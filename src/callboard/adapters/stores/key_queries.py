"""Writes of API keys. Each is safe to repeat, as after a commit with an unknown result."""

from dataclasses import asdict

from sqlalchemy import Connection, or_, select, text, update

from ...storage.errors import Conflict
from ...storage.rows import KeyRow
from .tables import api_keys, columns_of

KEY = select(*columns_of(api_keys, KeyRow))
_INSERT = text(
    "INSERT INTO api_keys (id, user_id, name, digest, created_at, expires_at, revoked_at, last_used_at)"
    " VALUES (:id, :user_id, :name, :digest, :created_at, :expires_at, :revoked_at, :last_used_at)"
    " ON CONFLICT DO NOTHING"
)


def add(connection: Connection, row: KeyRow) -> None:
    connection.execute(_INSERT, asdict(row))
    if find(connection, row.id) != row:
        raise Conflict(f"There is a key {row.id} already.")


def find(connection: Connection, key_id: str) -> KeyRow | None:
    row = connection.execute(KEY.where(api_keys.c.id == key_id)).mappings().one_or_none()
    return KeyRow(**row) if row else None


def revoke(connection: Connection, key_id: str, at: float) -> KeyRow | None:
    living = update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    connection.execute(living.values(revoked_at=at))
    return find(connection, key_id)


def used(connection: Connection, key_id: str, at: float) -> None:
    earlier = or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at < at)
    connection.execute(update(api_keys).where(api_keys.c.id == key_id, earlier).values(last_used_at=at))
