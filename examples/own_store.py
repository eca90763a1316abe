"""Your own store: a store that keeps a second copy of every event in a file, for an audit.

A store is any object with the methods of `callboard.storage.store.Store`. This one changes one of them and passes the
rest on to a built-in store, which is the shortest way to a store of your own. The test suite that every store must
pass is `callboard.testing.store_contract`. Run `python own_store.py`.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from callboard import Runtime, tool
from callboard.runtime import open_store
from callboard.storage.change import Change
from callboard.storage.errors import Conflict

if TYPE_CHECKING:
    from callboard.storage.store import Store


class AuditedStore:
    """A store at an address, whose committed events are also appended to a file as lines of JSON."""

    def __init__(self, address: str, audit: Path) -> None:
        self._inner = open_store(address)
        self._audit = audit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # all other methods of the port

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        """Write the changes, then copy the events of those that were written."""
        results = await self._inner.commit(changes)
        with self._audit.open("ab") as file:
            for change, result in zip(changes, results, strict=True):
                if not isinstance(result, Conflict):
                    session = json.dumps(change.session_id).encode()
                    for event in change.events:  # each is JSON already, and may be too deep for Python's parser
                        file.write(b'{"session":%b,"event":%b}\n' % (session, event))
        return results


@tool
async def add(a: Annotated[int, "One"], b: Annotated[int, "Other"]) -> int:
    """Add two numbers."""
    return a + b


async def main(audit: Path) -> None:
    store: Store = AuditedStore("sqlite:///audited.db", audit)  # pyright: ignore[reportAssignmentType]
    async with Runtime([add], store=store) as runtime:
        session = await runtime.open("alice_1", user_id="alice")
        await session.call("add", {"a": 2, "b": 3})


def show(audit: Path) -> None:
    for line in audit.read_text().splitlines():
        entry = json.loads(line)
        print(entry["session"], entry["event"]["kind"], entry["event"]["data"].get("value", ""))


if __name__ == "__main__":
    asyncio.run(main(Path("audit.jsonl")))
    show(Path("audit.jsonl"))
