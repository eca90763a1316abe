"""The contract of a store over every store, and of a shared store over every database."""

from callboard.testing.store_contract import SharedStoreContract, StoreContract


class TestStore(StoreContract):
    """Memory, SQLite and PostgreSQL, by the fixture `store`."""


class TestSharedStore(SharedStoreContract):
    """SQLite and PostgreSQL, by the fixture `open_store`."""
