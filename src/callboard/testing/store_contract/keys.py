"""Contract of a store: API keys are unique, listed, revoked and never deleted."""

import asyncio
from dataclasses import replace

import pytest

from ...storage.errors import Conflict
from ...storage.store import Store
from ..store_rows import NOW, key_row
from .contract import Contract


class KeyContract(Contract):
    async def test_h5_key_is_read_as_it_was_written(self, store: Store) -> None:
        full = key_row(
            "a", user_id="bob", name="lap\u00adtop", expires_at=NOW + 0.125, revoked_at=NOW, last_used_at=NOW
        )
        bare = key_row("b")
        await store.add_key(full)
        await store.add_key(bare)
        assert await store.key("a") == full
        assert await store.key("b") == bare
        assert await store.key("c") is None

    async def test_h5_keys_are_listed_in_order_and_by_user(self, store: Store) -> None:
        assert await store.keys() == []
        for name, user in (("z", "ann"), ("a", "bob"), ("m", "ann")):
            await store.add_key(key_row(name, user_id=user))
        assert [row.id for row in await store.keys()] == ["z", "a", "m"]
        assert [row.id for row in await store.keys("ann")] == ["z", "m"]
        assert [row.id for row in await store.keys(limit=1)] == ["z"]
        assert await store.keys("ANN") == []

    async def test_h5_id_of_a_key_is_unique(self, store: Store) -> None:
        row = key_row("a")
        await store.add_key(row)
        await store.add_key(row)  # as after a commit with an unknown result
        with pytest.raises(Conflict, match="a key a already"):
            await store.add_key(replace(row, digest="e" * 64))
        assert await store.keys() == [row]

    async def test_h5_id_is_given_to_one_of_several_concurrent_keys(self, store: Store) -> None:
        rows = [key_row("a", digest=str(number)) for number in range(5)]
        results = await asyncio.gather(*(store.add_key(row) for row in rows), return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["Conflict"] * 4 + ["NoneType"]
        assert await store.keys() == [rows[results.index(None)]]

    async def test_h5_revoked_key_keeps_its_first_time(self, store: Store) -> None:
        await store.add_key(key_row("a"))
        await store.add_key(key_row("b"))
        revoked = key_row("a", revoked_at=NOW + 1)
        assert await store.revoke_key("a", NOW + 1) == revoked
        assert await store.revoke_key("a", NOW + 2) == revoked
        assert await store.keys() == [revoked, key_row("b")]
        assert await store.revoke_key("c", NOW) is None

    async def test_h5_last_use_of_a_key_never_goes_back(self, store: Store) -> None:
        await store.add_key(key_row("a"))
        await store.key_used("a", NOW + 5)
        await store.key_used("a", NOW + 3)
        await store.key_used("unknown", NOW + 3)
        assert await store.keys() == [key_row("a", last_used_at=NOW + 5)]

    @pytest.mark.parametrize("name", ["", "\x00", "x" * 100_000, "\ud800", "' OR 1=1 --"])
    async def test_h5_unknown_keys_are_not_found(self, store: Store, name: str) -> None:
        await store.add_key(key_row("a"))
        assert await store.key(name) is None
        assert await store.revoke_key(name, NOW) is None
        assert await store.keys(name) == []
        await store.key_used(name, NOW)
        assert await store.keys() == [key_row("a")]
