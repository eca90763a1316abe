"""The base of all contracts of a store, and the assertions that they share."""

import json
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import pytest

from ...storage.change import Change
from ...storage.errors import Conflict
from ...storage.event_log import Page
from ...storage.rows import ExecutionRow, SessionRow
from ...storage.store import Store
from ..store_rows import event

OpenStore = Callable[..., AbstractAsyncContextManager[Store]]
"""Opens one more store on the same database. Takes the callback for writes of other processes, if there is one."""

LONG = json.dumps("x" * 5_000).encode()


class Contract:
    """Tests that a subclass inherits. They run on asyncio, with AnyIO's pytest plugin."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"


async def commit_one(store: Store, change: Change) -> int:
    """Commit a change that must fit, and return its number."""
    (result,) = await store.commit([change])
    assert not isinstance(result, Conflict), result
    return result


async def refused(store: Store, change: Change, why: str) -> None:
    """Commit a change that must be refused with this reason."""
    (result,) = await store.commit([change])
    assert isinstance(result, Conflict)
    assert why in str(result)
    assert result.code == "conflict"


def refusals(results: Iterable[int | Conflict]) -> list[bool]:
    """Return which of the results are conflicts."""
    return [isinstance(result, Conflict) for result in results]


async def stored_session(store: Store, session_id: str = "s") -> SessionRow:
    """Return a session that must exist."""
    row = await store.session(session_id)
    assert row is not None
    return row


async def stored_execution(store: Store, execution_id: str = "x") -> ExecutionRow:
    """Return an execution of the session `s` that must exist."""
    row = await store.execution("s", execution_id)
    assert row is not None
    return row


def numbered(page: Page) -> list[tuple[int, dict[str, Any]]]:
    """Return the events of a page with their numbers."""
    return [(page.first + place, json.loads(line)) for place, line in enumerate(page.lines)]


def event_at(number: int, n: int) -> tuple[int, dict[str, Any]]:
    """Return the event `n` of `store_rows` as `numbered` returns it."""
    return number, json.loads(event(n))


def canonical(document: bytes | str) -> Any:
    """Parse a document into values that keep apart what `==` does not: integers, floats and signed zeros."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return _typed(json.loads(document))
    finally:
        sys.set_int_max_str_digits(limit)


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_typed(item) for item in cast("list[Any]", value)]
    if isinstance(value, int | float):
        return type(value), str(value) if isinstance(value, float) else value
    return value
