"""The executions of one session: in their order, by id, by the caller's id, and which of them are still kept."""

from collections.abc import Container, Mapping
from sys import getsizeof

from .execution import ID_PREFIX, Execution

_SLACK = 64
"""How many more may gather before the oldest are let go, together."""


class Book:
    """Executions in the order of their calls. Living ones are always kept, and those whose results wait to be taken; of
    the finished ones at least the newest `retain`.

    Whoever appends one to `entries` calls `forget` when there are more than `limit`. Most are never looked up, so they
    get into the table of ids only when somebody asks for one.
    """

    __slots__ = ("_by_id", "_slack", "calls", "entries", "finished", "limit", "retain", "waiting")

    def __init__(self, retain: int) -> None:
        self.retain = retain
        self.entries: list[Execution] = []
        self.finished = 0
        """How many of them have ended."""
        self._by_id: dict[str, Execution] = {}
        """Some of them, by their ids: always the first so many of `entries`, in that order."""
        self.waiting: Container[str] = ()
        """Those whose results came late and were not taken yet, where nobody else keeps them."""
        self._slack = min(retain, _SLACK)
        self.limit = retain + self._slack
        self.calls: dict[str, Execution] = {}
        """Those whose callers gave an id of their own, by that id."""

    @property
    def by_id(self) -> Mapping[str, Execution]:
        """All of them by their ids."""
        known = self._by_id
        if len(known) < len(self.entries):
            for each in self.entries[len(known) :]:
                known[each.id] = each
        return known

    def clear(self) -> None:
        """Forget all of them; none may be living."""
        self.finished = 0
        self.entries.clear()
        self._by_id.clear()
        self.calls.clear()

    def take_back(self, execution: Execution) -> None:
        """Enter one that was made before, in the place of what is known of it from then."""
        if (known := self.by_id.get(execution.id)) is None:
            self.entries.append(execution)
        else:
            self.finished -= known.ended is not None
            self.entries[self.entries.index(known)] = self._by_id[execution.id] = execution
        self.calls[execution.call_id] = execution

    def ended(self, execution: Execution) -> None:
        """Count one that has ended, if it is here: one that another process left behind may not be."""
        if execution.seldom is None or self.by_id.get(execution.id) is execution:
            self.finished += 1

    def by_call(self, call_id: str) -> Execution | None:
        """The execution of the caller's id, which is never carried out twice while it is kept.

        Not one that is another process's by now: what that one was called with, and what came of it, the store knows.
        """
        known = self.calls.get(call_id)
        if known is None and call_id.startswith(ID_PREFIX):  # else it is no execution's own
            known = self.by_id.get(call_id)
        return None if known is None or known.lost else known

    def holds(self, execution_id: str) -> bool:
        """Whether this process carries it out, or did, as far as that is kept."""
        known = self.by_id.get(execution_id)
        return known is not None and not known.lost

    def forget(self) -> None:
        """Let the oldest finished ones go."""
        surplus, passed = self.finished - self.retain, 0
        kept: list[Execution] = []
        for each in self.entries:
            if surplus <= 0:
                break
            passed += 1
            if each.ended is None:
                kept.append(each)
                continue
            surplus -= 1
            if each.seldom is not None and each.late and each.id in self.waiting:
                kept.append(each)
            elif self._by_id or each.call_id is not each.id:  # else it is in no table
                self._strike(each)
        self.finished -= passed - len(kept)
        self.entries[:passed] = kept
        # Where many stay that were passed, it is longer until they are passed again.
        self.limit = len(self.entries) + max(self._slack, len(kept) // 8)

    def _strike(self, execution: Execution) -> None:
        if self._by_id.get(execution.id) is execution:
            del self._by_id[execution.id]
        if self.calls.get(execution.call_id) is execution:
            del self.calls[execution.call_id]

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(map(getsizeof, (self.entries, self._by_id, self.calls)))
