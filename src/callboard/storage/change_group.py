"""A group of changes on its way into the store."""

import threading
from collections.abc import Iterable

from .change import Change


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

    def check(self) -> None:
        """Raise `GroupWithdrawn` if the group is withdrawn and certainly not written."""
        if self._withdrawn and not self._sealed:
            raise GroupWithdrawn
