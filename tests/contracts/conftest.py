"""Every store that there is, for the suites that hold over all of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from callboard.adapters.stores import open_store
from callboard.storage.port import Store

SHARED = ["sqlite", "postgres"]
"""Stores that several processes can use at once."""


@pytest.fixture(params=["memory", *SHARED])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store in which there is nothing yet."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'callboard.db'}"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = open_store(store_url)
    await opened.open(lambda session_id: None)
    try:
        yield opened
    finally:
        await opened.close()
