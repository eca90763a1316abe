"""The executions of one session: in their order, by id, by the caller's id, and which of them are still kept."""

from collections.abc import Callable, Container, Mapping
from sys import getsizeof
from typing import Any

from ..budget import LARGE, Budget, Holding
from .execution import ID_PREFIX, Execution

_SLACK = 64
"""How many more may gather before the oldest are let go, together."""


class ExecutionIndex:
    """Executions in the order of their calls. Living ones are always kept, and those whose results wait to be taken; of
    the finished ones at least the newest `retain`.

    With a budget, finished ones with large arguments or results are bounded by their bytes too. Where a store has them,
    only their arguments and results are let go; else they are forgotten, also if their results wait to be taken.

    Whoever appends one to `entries` calls `forget` when there are more than `limit`. Most are never looked up, so they
    get into the table of ids only when somebody asks for one.
    """

    __slots__ = (
        "_by_id",
        "_holding",
        "_large",
        "_slack",
        "_stored",
        "calls",
        "dropped",
        "entries",
        "finished",
        "limit",
        "retain",
        "waiting",
    )

    def __init__(self, retain: int, *, budget: Budget | None = None, user_id: str = "", stored: bool = False) -> None:
        self.retain = retain
        self.entries: list[Execution] = []
        self.finished = 0
        """How many of them have ended."""
        self._by_id: dict[str, Execution] = {}
        """Some of them, by their ids: always the first so many of `entries`, in that order."""
        self.waiting: Container[str] = ()
        """Those whose results came late and were not taken yet, where nobody else keeps them."""
        self.dropped: Callable[[str], Any] = str
        """Called with the id of one of those for which there was no room."""
        self._slack = min(retain, _SLACK)
        self.limit = retain + self._slack
        self.calls: dict[str, Execution] = {}
        """Those whose callers gave an id of their own, by that id."""
        self._stored = stored
        self._large: dict[str, tuple[Execution, int]] = {}
        """Finished ones with large arguments or results and the bytes of these, the one that ended first at first."""
        self._holding: Holding | None = None if budget is None else budget.holding(user_id, self._shed)

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
        self._large.clear()
        if self._holding is not None:
            self._holding.free(self._holding.kept)

    def close(self) -> None:
        """Count its bytes no more: the session is deleted."""
        if self._holding is not None:
            self._holding.close()

    def weigh(self, execution: Execution) -> None:
        """Count the large arguments and result of one that has ended, once the store has it, if there is one."""
        if self._holding is None or execution.id in self._large or (self._stored and not execution.settled):
            return
        size = _weight(execution)
        if size:
            self._holding.add(size)
            self._large[execution.id] = execution, size

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
        if not execution.stored or self.by_id.get(execution.id) is execution:
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
            if each.late and each.id in self.waiting:
                kept.append(each)
            elif self._by_id or self._large or each.call_id is not each.id:  # else it is in no table
                self._strike(each)
        self.finished -= passed - len(kept)
        self.entries[:passed] = kept
        # Where many stay that were passed, it is longer until they are passed again.
        self.limit = len(self.entries) + max(self._slack, len(kept) // 8)

    def _shed(self, size: int) -> None:
        """Let the large ones go that ended first, until so many bytes are free."""
        freed = 0
        while freed < size and self._large:
            execution, weight = self._large.pop(next(iter(self._large)))
            freed += weight
            if self._stored:
                execution.unload()
            else:
                self._remove(execution)
        if freed and self._holding is not None:
            self._holding.free(freed)

    def _remove(self, execution: Execution) -> None:
        self.entries.remove(execution)
        self.finished -= 1
        self._strike(execution)
        if execution.late:
            self.dropped(execution.id)

    def _strike(self, execution: Execution) -> None:
        if self._large and (known := self._large.pop(execution.id, None)) is not None and self._holding is not None:
            self._holding.free(known[1])
        if self._by_id.get(execution.id) is execution:
            del self._by_id[execution.id]
        if self.calls.get(execution.call_id) is execution:
            del self.calls[execution.call_id]

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(map(getsizeof, (self.entries, self._by_id, self.calls)))


def _weight(execution: Execution) -> int:
    """The bytes of its arguments and its result, of those that are large."""
    shown = execution.display_arguments if execution.display_arguments is not execution.document else b""
    parts = (execution.document, shown, execution.result_json or b"")
    return sum(len(part) for part in parts if len(part) > LARGE)
