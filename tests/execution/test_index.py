"""The index of a session keeps the right executions in memory, and finds each of them (X2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.execution.execution import Execution
from callboard.execution.failures import cancelled
from callboard.execution.index import ExecutionIndex
from callboard.execution.lifecycle import Status
from callboard.execution.manager import NO_TOOL
from tests.examples import examples

RETAIN = 5


def added(index: ExecutionIndex, number: int, *, named: bool = False) -> Execution:
    """Add a new execution to an index."""
    call_id = f"call-{number}" if named else f"x{number}"
    execution = Execution(f"x{number}", call_id, NO_TOOL, "none", cast("Any", None), b"{}", 0.0, 0.0)
    index.add(execution)
    return execution


def ended(index: ExecutionIndex, execution: Execution) -> None:
    execution.fail(1.0, cancelled(), Status.CANCELLED)
    index.ended(execution)


@dataclass(frozen=True)
class Step:
    """A call, and the events after it."""

    named: bool
    """Whether its caller gives an id."""
    ends: int
    """The number of live executions that end, the newest first."""
    late: bool
    """Whether the first of them has a late result that is not consumed."""
    looked_up: bool
    """Whether an execution is then looked up by its id."""


steps = st.builds(Step, st.booleans(), st.integers(0, 3), st.sampled_from([False, False, True]), st.booleans())


@given(st.lists(steps, max_size=60))
@examples(150, 1500)
def test_x2_live_late_and_newest_executions_are_kept_and_found(many: list[Step]) -> None:
    index, waiting = ExecutionIndex(RETAIN), set[str]()
    index.waiting = waiting
    made: list[Execution] = []
    for number, step in enumerate(many):
        made.append(added(index, number, named=step.named))
        living = [each for each in made if each.ended is None]
        for place, execution in enumerate(reversed(living[len(living) - step.ends :])):
            if step.late and not place:
                execution.deliver_late()
                waiting.add(execution.id)
            ended(index, execution)
        if step.looked_up:
            check_ids(index, made)
        finished = [each for each in made if each.ended is not None]
        due = [each for each in made if each.ended is None or each.id in waiting or each in finished[-RETAIN:]]
        assert [each for each in index.entries if each in due] == due
        assert index.finished == sum(each.ended is not None for each in index.entries)
        assert len(index.entries) <= len(due) + RETAIN + max(RETAIN, len(due) // 8)
    check_ids(index, made)


def check_ids(index: ExecutionIndex, made: list[Execution]) -> None:
    kept = set(map(id, index.entries))
    assert list(index.by_id.values()) == index.entries
    for each in made:
        assert index.holds(each.id) == (id(each) in kept)
        assert index.by_call(each.call_id) is (each if id(each) in kept else None)


def test_x2_a_recovered_execution_replaces_the_older_entry() -> None:
    index = ExecutionIndex(RETAIN)
    first, second = added(index, 1, named=True), added(index, 2)
    ended(index, first)
    first.lose()
    assert not index.holds("x1")
    again = Execution("x1", "call-1", NO_TOOL, "none", cast("Any", None), b"{}", 2.0, 2.0)
    index.add_recovered(again)
    assert index.entries == [again, second]
    assert (index.by_id["x1"], index.by_call("call-1"), index.finished) == (again, again, 0)
    assert list(index.by_id) == ["x1", "x2"]


def test_x2_an_execution_that_is_not_indexed_is_not_counted_when_it_ends() -> None:
    index = ExecutionIndex(RETAIN)
    replaced = added(index, 1)
    again = Execution("x1", "x1", NO_TOOL, "none", cast("Any", None), b"{}", 2.0, 2.0)
    index.add_recovered(again)
    elsewhere = Execution("x2", "x2", NO_TOOL, "none", cast("Any", None), b"{}", 2.0, 2.0)
    for execution in (replaced, elsewhere):
        execution.mark_stored()  # as is every execution that other processes can know
        ended(index, execution)
    assert index.finished == 0
    ended(index, again)
    assert index.finished == 1


def test_x2_each_execution_is_added_to_the_table_of_ids_once() -> None:
    class Watched(list[Execution]):
        read = 0

        def __getitem__(self, place: Any) -> Any:
            found = super().__getitem__(place)
            self.read += len(found) if isinstance(place, slice) else 1
            return found

        def __iter__(self) -> Iterator[Execution]:
            self.read += len(self)
            return super().__iter__()

    index = ExecutionIndex(10_000)
    index.entries = entries = Watched()
    for number in range(1_000):
        added(index, number)
        assert index.holds(f"x{number}")
    assert entries.read == 1_000


def test_x2_live_executions_are_not_visited_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    index, passes, forget = ExecutionIndex(RETAIN), 0, ExecutionIndex.forget

    def counted(index: ExecutionIndex) -> None:
        nonlocal passes
        passes += 1
        forget(index)

    monkeypatch.setattr(ExecutionIndex, "forget", counted)
    for number in range(1_000):
        added(index, number)
    passes = 0
    for number in range(1_000, 3_000):
        ended(index, added(index, number))
    assert passes <= 2_000 / 125 + 1
    assert len(index.entries) <= 1_000 + RETAIN + 125
