"""The writer: which changes wait for later ones of their source, and which are written at once."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from callboard.adapters.stores.memory import MemoryStore
from callboard.storage import writer as module
from callboard.storage.change import Change
from callboard.storage.errors import Conflict, StoreError
from callboard.storage.writer import Writer

pytestmark = pytest.mark.anyio

NEVER = 600.0
"""Longer than any test: what is written after this time is not seen."""


class FakeCommitter(MemoryStore):
    """Keeps the groups that are committed."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[list[Change]] = []

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        self.groups.append(list(changes))
        return [1] * len(changes)


class FakeSource:
    """A source with one change for each call of `stage`."""

    def __init__(self) -> None:
        self.staged: list[Change] = []
        self.confirmed = asyncio.Event()

    def stage(self, name: str) -> None:
        self.staged.append(Change(name))
        self.confirmed.clear()

    def take(self) -> Sequence[Change]:
        taken, self.staged = self.staged, []
        return taken

    def take_again(self) -> Sequence[Change]:
        raise AssertionError("nothing is withdrawn")

    def written(self, results: Sequence[int | Conflict]) -> None:
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
