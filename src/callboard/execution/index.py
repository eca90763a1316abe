"""The index of a session's executions: in order, by id and by the caller's id, with a bound on finished ones."""

from collections.abc import Callable, Container, Mapping
from sys import getsizeof
from typing import Any

from ..budget import LARGE, Budget, MemoryAccount
from .execution import ID_PREFIX, Execution

_SLACK = 64
"""The number of executions above the limit at which the oldest are dropped together."""


class ExecutionIndex:
    """Executions in the order of their calls. Live ones, those with late results and the newest `retain` are kept.

    Finished ones with large arguments or results are bounded by their bytes too. With a store, only their arguments and
    results are dropped; without one they are dropped themselves, even with late results. Without a store, nested calls
    with keys are also kept while a later attempt of their caller may make them again, and bounded by their bytes. Most
    executions are never looked up, so the table of ids is filled on the first look-up.
    """

    __slots__ = (
        "_account",
        "_by_call",
        "_by_id",
        "_large",
        "_limit",
        "_slack",
        "_stored",
        "dropped",
        "entries",
        "finished",
        "retain",
        "waiting",
    )

    def __init__(self, retain: int, *, budget: Budget | None = None, user_id: str = "", stored: bool = False) -> None:
        self.retain = retain
        self.entries: list[Execution] = []
        self.finished = 0
        """The number of executions that have ended."""
        self._by_id: dict[str, Execution] = {}
        """The first entries by id, in the same order. `by_id` adds the rest."""
        self.waiting: Container[str] = ()
        """The executions with late results that only this index keeps."""
        self.dropped: Callable[[str], Any] = str
        """Called with the id of an execution that was dropped with its late result."""
        self._slack = min(retain, _SLACK)
        self._limit = retain + self._slack
        self._by_call: dict[str, Execution] = {}
        """The executions whose callers chose an id, by that id."""
        self._stored = stored
        self._large: dict[str, tuple[Execution, int]] = {}
        """Finished executions that are bounded by their bytes, and these bytes, mostly in the order of their ends."""
        self._account = MemoryAccount(budget or Budget(), user_id, self._evict)

    @property
    def by_id(self) -> Mapping[str, Execution]:
        """All executions by id."""
        known = self._by_id
        if len(known) < len(self.entries):
            for each in self.entries[len(known) :]:
                known[each.id] = each
        return known

    def clear(self) -> None:
        """Drop all executions; none may be live."""
        self.finished = 0
        self.entries.clear()
        self._by_id.clear()
        self._by_call.clear()
        self._large.clear()
        self._account.remove(self._account.kept)

    def close(self) -> None:
        """Stop counting bytes, since the session is deleted."""
        self._account.close()

    def add(self, execution: Execution) -> None:
        """Add an execution that this process begins."""
        self.entries.append(execution)
        if execution.call_id is not execution.id:
            self._by_call[execution.call_id] = execution
        if len(self.entries) > self._limit:
            self.forget()

    def count_bytes(self, execution: Execution) -> None:
        """Count the large arguments and result of an execution that has ended and, with a store, is stored."""
        if execution.id in self._large or (self._stored and not execution.settled):
            return
        if size := _bytes_of(execution):
            self._count(execution, size)

    def add_recovered(self, execution: Execution) -> None:
        """Add an execution that another process began. It replaces an older one of the same id."""
        if (known := self.by_id.get(execution.id)) is None:
            self.entries.append(execution)
        else:
            self.finished -= known.ended is not None
            self.entries[self.entries.index(known)] = self._by_id[execution.id] = execution
        self._by_call[execution.call_id] = execution

    def ended(self, execution: Execution) -> None:
        """Count an execution that has ended, if it is in the index: one of another process may not be."""
        if execution.extras is None or self.by_id.get(execution.id) is execution:
            self.finished += 1

    def by_call(self, call_id: str) -> Execution | None:
        """Return the execution of a caller's id, so that the call is not carried out twice.

        A lost one is not returned: only the store knows what another process did with it.
        """
        known = self._by_call.get(call_id)
        if known is None and call_id.startswith(ID_PREFIX):  # the form of an execution's own id
            known = self.by_id.get(call_id)
        return None if known is None or known.lost else known

    def holds(self, execution_id: str) -> bool:
        """Return whether this process carries an execution out, or did, as far as the index keeps it."""
        known = self.by_id.get(execution_id)
        return known is not None and not known.lost

    def forget(self) -> None:
        """Drop the oldest finished executions."""
        surplus, visited = self.finished - self.retain, 0
        kept: list[Execution] = []
        keyed: list[Execution] = []
        for each in self.entries:
            if surplus <= 0:
                break
            visited += 1
            if each.ended is None:
                kept.append(each)
                continue
            surplus -= 1
            if each.delivers_late and each.id in self.waiting:
                kept.append(each)
            elif each.parent is not None and self._may_be_repeated(each):
                kept.append(each)
                if each.id not in self._large:
                    keyed.append(each)
            elif self._by_id or self._large or each.call_id is not each.id:  # else it is in no table
                self._drop(each)
        self.finished -= visited - len(kept)
        self.entries[:visited] = kept
        # The more were kept, the longer it takes until they are visited again.
        self._limit = len(self.entries) + max(self._slack, len(kept) // 8)
        for each in keyed:  # last: this may drop others
            self._count(each, _all_bytes_of(each))

    def _may_be_repeated(self, execution: Execution) -> bool:
        """Return whether a later attempt of its caller may make a call again, of which only this index knows."""
        parent = execution.parent
        return parent is not None and parent.ended is None and execution.is_keyed and not self._stored

    def _count(self, execution: Execution, size: int) -> None:
        self._account.add(size)
        self._large[execution.id] = execution, size

    def _evict(self, size: int) -> None:
        """Drop the executions that are bounded by their bytes, the first ones first, until so many bytes are free."""
        freed = 0
        while freed < size and self._large:
            execution, weight = self._large.pop(next(iter(self._large)))
            freed += weight
            if self._stored:
                execution.unload()
            else:
                if execution.parent is not None and self._may_be_repeated(execution):
                    execution.parent.mark_keys_dropped()
                self._remove(execution)
        self._account.remove(freed)

    def _remove(self, execution: Execution) -> None:
        self.entries.remove(execution)
        self.finished -= 1
        self._drop(execution)
        if execution.delivers_late:
            self.dropped(execution.id)

    def _drop(self, execution: Execution) -> None:
        if (known := self._large.pop(execution.id, None)) is not None:
            self._account.remove(known[1])
        if self._by_id.get(execution.id) is execution:
            del self._by_id[execution.id]
        if self._by_call.get(execution.call_id) is execution:
            del self._by_call[execution.call_id]

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(map(getsizeof, (self.entries, self._by_id, self._by_call)))


def _parts_of(execution: Execution) -> tuple[bytes, bytes, bytes]:
    """Return its arguments and its result."""
    shown = execution.display_arguments if execution.display_arguments is not execution.document else b""
    return execution.document, shown, execution.result_json or b""


def _bytes_of(execution: Execution) -> int:
    """Return the bytes of its arguments and its result, each only if it is large."""
    return sum(len(part) for part in _parts_of(execution) if len(part) > LARGE)


def _all_bytes_of(execution: Execution) -> int:
    """Return the bytes of an execution with its arguments and its result."""
    return getsizeof(execution) + sum(map(len, _parts_of(execution)))
