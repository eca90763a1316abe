"""Errors of a store, and conflicts between a change and the stored state."""

from ..errors import CallboardError
from .rows import IdempotencyRow


class StoreError(CallboardError):
    """The store cannot be used: its address, its file or its contents are wrong. The message says what to do."""

    code = "store"


class StoreUnavailable(StoreError):
    """The store does not answer at the moment, or has no space left. A later attempt may succeed.

    Nothing was written and nothing will be, unless it is `StoreUnconfirmed`.
    """

    code = "store_unavailable"


class StoreUnconfirmed(StoreUnavailable):
    """The store did not confirm a write in time: the write may be stored, now or later.

    A caller that gave the write an id can repeat it with the same id. Any other caller has to read the
    current state first.
    """

    code = "store_unconfirmed"


class StoreOutdated(StoreError):
    """Another version of Callboard migrated the store while this process was using it. Nothing was written.

    Every further write raises it too: restart the process with that version.
    """

    def __init__(self, stored: str | None, expected: str) -> None:
        super().__init__(
            f"The store was migrated to revision {stored} while this process, which works with revision {expected}, "
            "was using it. This process writes nothing more: restart it with the version of Callboard that migrated "
            "the store."
        )


class Conflict(CallboardError):
    """A change does not fit the stored state and was not written: another writer was faster, or an id is in use."""

    code = "conflict"


class Unstorable(Conflict):
    """The database does not accept the data of a change, whatever is stored already. Nothing was written."""

    code = "unstorable"


class AlreadyWritten(Conflict):
    """The same request was written before, under the same idempotency key. Nothing was written again."""

    code = "already_written"

    def __init__(self, row: IdempotencyRow) -> None:
        super().__init__(f"The idempotency key {row.key!r} was written before, for the same request.")
        self.row = row
        """The result of the first request."""


class IdempotencyConflict(Conflict):
    """An idempotency key was used before, for another request. Nothing was written."""

    code = "idempotency_conflict"

    def __init__(self, key: str) -> None:
        super().__init__(f"The idempotency key {key!r} was used before, for another request. Use a new key.")
        self.key = key
