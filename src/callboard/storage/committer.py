"""The port that writes changes."""

from collections.abc import Sequence
from typing import Protocol

from .change import Change
from .errors import Conflict


class Committer(Protocol):
    """Writes changes of sessions."""

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        """Write all changes that fit, in one transaction. Return, in their order, a number or a conflict for each.

        The number of a change is that of the session's newest event after it. After `StoreUnavailable` the same list
        may be committed again, and only then: if the connection broke during the commit itself, the store finds out
        whether the group was written, and does not write it twice.

        Raises `GroupWithdrawn` for a `ChangeGroup` that was withdrawn before its commit: nothing of it is written.
        """
        ...

    async def probe(self) -> None:
        """Check that the store would accept a write now, without changing its contents. Raises `StoreUnavailable`."""
        ...

    async def verify(self) -> None:
        """Raise `StoreOutdated` if another version has migrated the store since it was opened.

        So does every method that writes, except `Owners.leave`.
        """
        ...
