"""Contracts in the documents of the user, so that they outlive the process. A cache: without a store, nothing is kept.

The number of documents is fixed. A contract has its place by the hash of its chain and address, and replaces the one
that was there.
"""

import zlib
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ValidationError

from callboard import ToolContext, ToolError

from .clock import Clock
from .contracts import Contract, ContractQuery, is_old, make_contract

COLLECTION = "ethereum.contracts"
PLACES = 64
MAX_STORED = 200_000
"""Size of the largest contract that is stored. A document has at most 262,144 bytes."""


class _Stored(BaseModel):
    chain_id: int | None
    address: str | None
    source: str
    name: str
    abi: list[dict[str, Any]]
    files: dict[str, str]
    compiler: str | None
    is_exact: bool | None
    implementation: str | None


class StoredContracts:
    """The stored contracts of the user of a call. A source of contracts, and the cache for other sources."""

    name = "store"
    is_local = True

    def __init__(self, ctx: ToolContext, clock: Clock) -> None:
        self._ctx = ctx
        self._clock = clock

    async def find(self, query: ContractQuery) -> Contract | None:
        """Return a contract that was stored not long ago. Errors of the store are ignored."""
        if not query.is_by_address:
            return None
        with suppress(ToolError, ValidationError):
            kept = await self._ctx.documents.get(COLLECTION, _place(query))
            if kept is None:
                return None
            stored = _Stored.model_validate(kept.value)
            if (stored.chain_id, stored.address) == (query.chain_id, query.address):
                found = make_contract(**dict(stored), found_at=kept.updated_at)
                return None if is_old(found, self._clock) else found
        return None

    async def save(self, query: ContractQuery, found: Contract) -> None:
        """Store a contract, unless it is too large. Errors of the store are ignored."""
        if not query.is_by_address or found.size > MAX_STORED:
            return
        stored = _Stored(
            chain_id=query.chain_id,
            address=query.address,
            source=found.source,
            name=found.name,
            abi=found.abi.to_json(),
            files=dict(found.files),
            compiler=found.compiler,
            is_exact=found.is_exact,
            implementation=found.implementation,
        )
        with suppress(ToolError):
            await self._ctx.documents.put(COLLECTION, _place(query), stored)


def _place(query: ContractQuery) -> str:
    return str(zlib.crc32(f"{query.chain_id} {query.address}".encode()) % PLACES)
