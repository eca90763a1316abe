"""The port that writes changes, and the groups that it writes them in."""

import threading
from collections.abc import Iterable, Sequence
from typing import Protocol

from .change import Change
from .errors import Conflict


class GroupWithdrawn(Exception):
    """A group was not written, because one of its changes was withdrawn."""


class ChangeGroup(list[Change]):
    """Changes that are committed together, and that can be withdrawn until the store begins the commit.

    The event loop withdraws; the store's thread seals. Whichever comes first decides, so that nothing is written
    after `withdraw` returned true.
    """

    def __init__(self, changes: Iterable[Change]) -> None:
        super().__init__(changes)
        self._lock = threading.Lock()
        self._withdrawn = self._sealed = False

    def withdraw(self) -> bool:
        """Prevent the group from being written. Return False if that is too late, since it may be committed.

        Even then the group is not written again if its commit turns out to have failed.
        """
        with self._lock:
            self._withdrawn = True
            return not self._sealed

    def seal(self) -> None:
        """Mark the beginning of the commit. Raise `GroupWithdrawn` if the group must not be committed."""
        with self._lock:
            if self._withdrawn:
                raise GroupWithdrawn
            self._sealed = True

    def unseal(self) -> None:
        """Mark the group as certainly not committed."""
        with self._lock:
            self._sealed = False

    @property
    def is_sealed(self) -> bool:
        """Whether it may be committed."""
        return self._sealed

    def check(self) -> None:
        """Raise `GroupWithdrawn` if the group is withdrawn and certainly not written."""
        if self._withdrawn and not self._sealed:
            raise GroupWithdrawn


class Committer(Protocol):
    """Writes changes of sessions."""

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        """Write all changes that fit, in one transaction. Return, in their order, a number or a conflict for each.

        The number of a change is that of the session's newest event after it. The conflict is `Unstorable` if the store
        does not accept the data of a change. In a change that is written, `cancelled` is set. After `StoreUnavailable`
        the same list may be committed again, and only then: if the connection broke during the commit itself, the store
        finds out whether the group was written, and does not write it twice.

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
