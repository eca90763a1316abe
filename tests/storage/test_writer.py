"""The writer: which changes wait for later ones, which are written at once, and what becomes of a group that fails."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.adapters.stores.memory import MemoryStore
from callboard.storage import writer as module
from callboard.storage.change import Change
from callboard.storage.committer import ChangeGroup
from callboard.storage.errors import Conflict, StoreError, StoreUnavailable
from callboard.storage.writer import GROUP_BYTES, LARGE, Writer

pytestmark = pytest.mark.anyio

NEVER = 600.0
"""Longer than any test: what is written after this time is not seen."""


class FakeCommitter(MemoryStore):
    """Keeps the groups that are committed."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[list[Change]] = []
        self.committing: Callable[[], None] = lambda: None
        """Called while a group is committed."""

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        self.groups.append(list(changes))
        self.committing()
        await asyncio.sleep(0)
        return [1] * len(changes)


class FakeSource:
    """A source with one change for each call of `stage`."""

    def __init__(self) -> None:
        self.staged: list[Change] = []
        self.taken: list[Change] = []
        self.confirmed = asyncio.Event()

    def stage(self, name: str, size: int = 0) -> None:
        self.staged.append(Change(name, events=[bytes(size)]))
        self.confirmed.clear()

    def take(self) -> Sequence[Change]:
        assert not self.taken, "the changes that were taken before are not written yet"
        self.taken, self.staged = self.staged, []
        return self.taken

    def take_again(self) -> Sequence[Change]:
        return self.taken

    def written(self, results: Sequence[int | Conflict]) -> None:
        assert len(results) == len(self.taken)
        self.taken = []
        self.confirmed.set()

    def lost(self, error: StoreError) -> None:
        raise AssertionError(error)


@asynccontextmanager
async def opened(linger: float, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[tuple[Writer, FakeCommitter]]:
    monkeypatch.setattr(module, "LINGER", linger)
    committer = FakeCommitter()
    writer = Writer(committer)
    writer.open()
    async with asyncio.timeout(60):
        yield writer, committer
        await writer.close()


def names(committer: FakeCommitter) -> list[list[str]]:
    return [[change.session_id for change in group] for group in committer.groups]


async def test_d2_changes_that_may_wait_are_written_with_the_next_of_their_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened(NEVER, monkeypatch) as (writer, committer):
        first, second = FakeSource(), FakeSource()
        first.stage("first begins")
        writer.add_soon(first)
        second.stage("second")
        writer.add(second)
        await second.confirmed.wait()
        assert names(committer) == [["second"]], "the next group is not theirs"
        first.stage("first ends")
        writer.add(first)
        await first.confirmed.wait()
        assert names(committer) == [["second"], ["first begins", "first ends"]]


async def test_d2_changes_that_may_wait_are_written_in_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(0.01, monkeypatch) as (writer, committer):
        sources = [FakeSource() for _ in range(3)]
        for number, source in enumerate(sources):
            source.stage(str(number))
            writer.add_soon(source)
        for source in sources:
            await source.confirmed.wait()
        assert sorted(name for group in names(committer) for name in group) == ["0", "1", "2"]
        sources[0].stage("later")
        writer.add_soon(sources[0])
        await sources[0].confirmed.wait()
        assert names(committer)[-1] == ["later"], "the timer is set again"


async def test_d2_changes_that_may_wait_are_written_when_the_writer_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    source = FakeSource()
    async with opened(NEVER, monkeypatch) as (writer, committer):
        source.stage("waits")
        writer.add_soon(source)
    assert names(committer) == [["waits"]]
    assert source.confirmed.is_set()


async def test_d2_source_that_must_be_written_does_not_wait_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(NEVER, monkeypatch) as (writer, committer):
        source = FakeSource()
        source.stage("ends")
        writer.add(source)
        source.stage("next begins")
        writer.add_soon(source)
        await source.confirmed.wait()
        assert names(committer) == [["ends", "next begins"]]


async def test_h5_large_changes_are_written_alone_and_others_wait_for_one_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened(NEVER, monkeypatch) as (writer, committer):
        first, second, early, late = FakeSource(), FakeSource(), FakeSource(), FakeSource()
        late.stage("late")

        def add_late() -> None:
            if names(committer)[-1] == ["first"]:
                writer.add(late)

        committer.committing = add_late
        first.stage("first", LARGE)
        second.stage("second", LARGE)
        early.stage("early", LARGE - 1)
        for source in (first, second, early):
            writer.add(source)
        await second.confirmed.wait()
        assert names(committer) == [["early"], ["first"], ["late"], ["second"]]


async def test_h5_group_takes_no_more_sources_than_it_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(NEVER, monkeypatch) as (writer, committer):
        sources = [FakeSource() for _ in range(2 * GROUP_BYTES // (LARGE - 1))]
        for number, source in enumerate(sources):
            source.stage(str(number), LARGE - 1)
            writer.add(source)
        await sources[-1].confirmed.wait()
        assert [name for group in names(committer) for name in group] == [str(n) for n in range(len(sources))]
        assert max(sum(change.size for change in group) for group in committer.groups) < GROUP_BYTES + LARGE


async def test_h5_large_change_is_withdrawn_until_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(NEVER, monkeypatch) as (writer, committer):
        small, large = FakeSource(), FakeSource()
        withdrawn: list[bool] = []

        def withdraw() -> None:
            if not withdrawn:
                large.taken = []
                withdrawn.append(writer.withdraw(large))

        committer.committing = withdraw
        small.stage("small")
        large.stage("large", LARGE)
        writer.add(large)
        writer.add(small)
        await large.confirmed.wait()
        assert withdrawn == [True]
        assert names(committer) == [["small"]]


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([1, LARGE - 1, LARGE]), st.booleans()), max_size=40))
def test_e5_every_change_is_written_once_and_in_the_order_of_its_source(steps: list[tuple[int, int, bool]]) -> None:
    async def run() -> None:
        committer = FakeCommitter()
        writer, sources = Writer(committer), [FakeSource() for _ in range(5)]
        writer.open()
        for number, (source, size, is_pausing) in enumerate(steps):
            sources[source].stage(f"{source}.{number}", size)
            writer.add(sources[source])
            if is_pausing:
                await asyncio.sleep(0)
        await writer.close()
        written = [name for group in names(committer) for name in group]
        for source in range(5):
            staged = [f"{step[0]}.{number}" for number, step in enumerate(steps) if step[0] == source]
            assert [name for name in written if name.startswith(f"{source}.")] == staged

    asyncio.run(run())


async def test_d2_tasks_that_wake_together_share_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(NEVER, monkeypatch) as (writer, committer):
        first, second = FakeSource(), FakeSource()

        async def follow() -> None:
            second.stage("second")
            writer.add(second)

        first.stage("first")
        writer.add(first)
        follower = asyncio.create_task(follow())  # begins after the writer has been woken
        for source in (first, second):
            await source.confirmed.wait()
        await follower
        assert names(committer) == [["first", "second"]]


# A group that fails


class FailingCommitter(FakeCommitter):
    """Fails with every group that has a change of a name, and optionally with everything."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = {"bad"}
        self.is_away = self.seals = False
        self.attempts: list[list[str]] = []
        self.failed, self.probed = asyncio.Event(), asyncio.Event()

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        self.attempts.append([change.session_id for change in changes])
        if self.is_away or self.refused.intersection(self.attempts[-1]):
            if self.seals:
                assert isinstance(changes, ChangeGroup)
                changes.seal()
            if len(self.attempts) > 5:
                self.failed.set()
            raise StoreUnavailable("There is no room.")
        return await super().commit(changes)

    async def probe(self) -> None:
        self.probed.set()
        if self.is_away:
            raise StoreUnavailable("It is away.")


class PatientSource(FakeSource):
    """A source whose changes may be lost."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.error: StoreError | None = None
        self.stage(name)

    def lost(self, error: StoreError) -> None:
        self.taken, self.error = [], error


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> FailingCommitter:
    monkeypatch.setattr(module, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(module, "LONGEST_DELAY", 0.002)
    monkeypatch.setattr(module, "RETRY", 0.001)
    return FailingCommitter()


def added(writer: Writer, *names: str) -> dict[str, PatientSource]:
    sources = {name: PatientSource(name) for name in names}
    for source in sources.values():
        writer.add(source)
    return sources


async def test_b6_source_that_cannot_be_written_waits_alone(failing: FailingCommitter) -> None:
    writer = Writer(failing)
    writer.open()
    async with asyncio.timeout(60):
        sources = added(writer, "a", "b", "bad", "c", "d", "e")
        for name, source in sources.items():
            if name != "bad":
                await source.confirmed.wait()
        assert failing.attempts[:3] == [["a", "b", "bad", "c", "d", "e"]] * 3
        assert sorted(name for group in names(failing) for name in group) == ["a", "b", "c", "d", "e"]
        assert writer.available, "the store accepts other changes"
        bad = sources["bad"]
        bad.stage("bad, later")
        writer.add(bad)
        await added(writer, "f")["f"].confirmed.wait()
        assert not bad.confirmed.is_set()
        failing.refused.clear()
        await bad.confirmed.wait()
        while bad.staged or bad.taken:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert names(failing)[-2:] == [["bad"], ["bad, later"]], "in order"
        await writer.close()
    assert writer.lost == 0


async def test_b6_outage_does_not_take_groups_apart(failing: FailingCommitter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY", NEVER)
    monkeypatch.setattr(module, "PROBE", 0.01)
    failing.is_away = True
    writer = Writer(failing)
    writer.open()
    async with asyncio.timeout(60):
        everything = [str(number) for number in range(16)]
        sources = added(writer, *everything)
        await failing.probed.wait()
        assert [len(attempt) for attempt in failing.attempts] == [16, 16, 16, 8, 8], "the rest waits for the store"
        failing.is_away = False
        for source in sources.values():
            await source.confirmed.wait()
        assert [len(group) for group in names(failing)] == [4, 4, 4, 4]
        assert sorted(name for group in names(failing) for name in group) == sorted(everything)
        await writer.close()


async def test_b6_group_that_may_be_committed_is_not_halved(failing: FailingCommitter) -> None:
    failing.seals = True
    writer = Writer(failing)
    writer.open()
    async with asyncio.timeout(60):
        sources = added(writer, "a", "bad")
        await failing.failed.wait()
        failing.refused.clear()
        for source in sources.values():
            await source.confirmed.wait()
        assert {*map(tuple, failing.attempts)} == {("a", "bad")}
        await writer.close()


async def test_b6_writer_that_closes_loses_only_what_cannot_be_written(failing: FailingCommitter) -> None:
    writer = Writer(failing)
    writer.open()
    async with asyncio.timeout(60):
        sources = added(writer, "a", "bad", "b")
        await writer.close(patience=0.5)
    assert [source.error is None for source in sources.values()] == [True, False, True]
    assert writer.lost == 1
