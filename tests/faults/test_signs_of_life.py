"""When a process counts as dead: only if its beat stands still while somebody watches (E5)."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from callboard.sessions import ownership
from callboard.sessions.ownership import BEAT, LEASE, Ownership, is_dead, this_process
from callboard.storage.port import Store, StoreUnavailable
from callboard.storage.rows import ExecutionRow, OwnerRow

pytestmark = pytest.mark.anyio

ELSEWHERE = OwnerRow(id="other", host="another machine", pid=1, started="1", beat=5)


class Owners:
    """A store that knows nothing but processes."""

    def __init__(self, *rows: OwnerRow) -> None:
        self.rows = list(rows)
        self.away = False
        self.dead: list[str] = []

    async def owners(self) -> list[OwnerRow]:
        if self.away:
            raise StoreUnavailable("It is away.")
        return self.rows

    async def recover(self, owner_id: str | None, beat: int, heir: str) -> list[ExecutionRow]:
        if owner_id is not None:
            self.dead.append(owner_id)
            self.rows = [row for row in self.rows if row.id != owner_id]
        return []


class Watcher:
    """Somebody who watches, as time passes."""

    def __init__(self, store: Owners, monkeypatch: pytest.MonkeyPatch) -> None:
        async def nothing(*_: Any) -> None: ...

        self.now = 1_000.0
        self.ownership = Ownership(cast("Store", store), this_process(), nothing, nothing)
        monkeypatch.setattr(ownership.time, "monotonic", lambda: self.now)

    async def look(self) -> None:
        self.now += BEAT
        await self.ownership.look()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Owners], Watcher]:
    return lambda store: Watcher(store, monkeypatch)


async def test_e5_beat_that_stands_still_for_a_lease_is_death(watch: Callable[[Owners], Watcher]) -> None:
    store = Owners(ELSEWHERE)
    watcher = watch(store)
    for _ in range(round(LEASE / BEAT)):
        await watcher.look()
    assert store.dead == []
    await watcher.look()
    assert store.dead == ["other"]


async def test_e5_beat_that_goes_on_is_life(watch: Callable[[Owners], Watcher]) -> None:
    store = Owners(ELSEWHERE)
    watcher = watch(store)
    for beat in range(40):
        store.rows = [replace(ELSEWHERE, beat=beat // 5)]  # slowly, but it goes on
        await watcher.look()
    assert store.dead == []


async def test_e5_time_in_which_nobody_watched_does_not_count(watch: Callable[[Owners], Watcher]) -> None:
    """The watcher itself was stopped, and so perhaps was everybody."""
    store = Owners(ELSEWHERE)
    watcher = watch(store)
    await watcher.look()
    watcher.now += 3_600
    await watcher.look()
    assert store.dead == []


async def test_e5_time_in_which_the_store_was_away_does_not_count(watch: Callable[[Owners], Watcher]) -> None:
    store = Owners(ELSEWHERE)
    watcher = watch(store)
    for _ in range(round(LEASE / BEAT)):
        await watcher.look()
    store.away = True
    await watcher.look()
    store.away = False
    for _ in range(round(LEASE / BEAT)):
        await watcher.look()
    assert store.dead == []
    await watcher.look()
    assert store.dead == ["other"]


async def test_e5_process_that_left_work_behind_is_inherited_from_at_once(watch: Callable[[Owners], Watcher]) -> None:
    store = Owners(replace(ELSEWHERE, beat=-1))
    await watch(store).look()
    assert store.dead == ["other"]


def test_e5_process_of_this_machine_is_known_to_be_dead() -> None:
    me = this_process()
    assert not is_dead(me)
    assert is_dead(replace(me, started=f"{me.started}0")), "another process has its number now"
    assert not is_dead(replace(me, host="another machine", started="1")), "nothing is known of that"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        stat = f"/proc/{process.pid}/stat"
        with open(stat) as file:
            theirs = replace(me, pid=process.pid, started=file.read().rpartition(")")[2].split()[19])
        assert not is_dead(theirs)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is dead, and nobody has taken notice
        assert is_dead(theirs)
    assert is_dead(theirs)
