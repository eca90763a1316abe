"""Liveness: a process counts as dead only if its beat does not change while another process polls (E5)."""

import os
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import cast

import pytest

from callboard.sessions import heartbeat, liveness
from callboard.sessions.heartbeat import BEAT, PATIENCE, Heartbeat
from callboard.sessions.liveness import (
    LEASE,
    LONG_LEASE,
    ProcessState,
    is_dead,
    lives_here,
    process_state,
    this_process,
)
from callboard.storage.errors import StoreUnavailable
from callboard.storage.owners import LEFT, RECOVERING, Recovered
from callboard.storage.rows import OwnerRow
from callboard.storage.store import Store

pytestmark = pytest.mark.anyio

ELSEWHERE = OwnerRow(id="other", host="another machine", pid=1, started="1", beat=5)


class Owners:
    """A store of processes and their locks alone."""

    def __init__(self, *rows: OwnerRow) -> None:
        self.rows = list(rows)
        self.locks: dict[str, bool] = {row.id: False for row in rows}
        self.away = False
        self.dead: list[str] = []
        self.tools: list[Collection[str] | None] = []
        """The tools that were given with each recovery."""
        self.needed: set[str] = set()
        """The tools of the calls of dead processes."""

    async def owners(self) -> list[OwnerRow]:
        if self.away:
            raise StoreUnavailable("It is away.")
        return self.rows

    async def living(self, owner_ids: Collection[str]) -> dict[str, bool]:
        return {owner_id: self.locks[owner_id] for owner_id in owner_ids if owner_id in self.locks}

    async def tools_under_way(self, owner_id: str) -> set[str]:
        return self.needed

    async def recover(
        self,
        owner_id: str | None,
        beat: int,
        heir: str,
        *,
        limit: int,
        conversations: bool = True,
        tools: Collection[str] | None = None,
    ) -> Recovered:
        if owner_id is None:
            return Recovered([])
        self.dead.append(owner_id)
        self.tools.append(tools)
        if tools is None or self.needed <= set(tools):
            self.rows = [row for row in self.rows if row.id != owner_id]
        return Recovered([], found=True)


class Watcher:
    """Polls other processes as time passes."""

    def __init__(self, store: Owners, monkeypatch: pytest.MonkeyPatch) -> None:
        async def nothing() -> None: ...

        self.now = 1_000.0
        self.tools: tuple[str, ...] = ("mine",)
        self.heartbeat = Heartbeat(
            cast("Store", store), this_process(), lambda claims: None, nothing, tools=lambda: self.tools
        )
        monkeypatch.setattr(heartbeat.time, "monotonic", lambda: self.now)

    async def look(self, seconds: float = BEAT) -> None:
        for _ in range(round(seconds / BEAT)):
            self.now += BEAT
            await self.heartbeat.poll()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Owners], Watcher]:
    return lambda store: Watcher(store, monkeypatch)


async def test_e5_process_without_a_beat_for_a_lease_is_dead(watch: Callable[[Owners], Watcher]) -> None:
    store = Owners(ELSEWHERE)
    watcher = watch(store)
    for _ in range(round(LEASE / BEAT)):
        await watcher.look()
    assert store.dead == []
    await watcher.look()
    assert store.dead == ["other"]


async def test_e5_calls_of_other_tools_are_left_to_another_process_for_a_while(
    watch: Callable[[Owners], Watcher],
) -> None:
    store = Owners(replace(ELSEWHERE, beat=LEFT))
    store.needed = {"theirs"}
    watcher = watch(store)
    await watcher.look(PATIENCE - BEAT)
    assert store.tools == [("mine",)], "a poll costs nothing until then"
    await watcher.look(2 * BEAT)
    assert store.tools == [("mine",), None]
    assert store.rows == []


async def test_e5_calls_whose_tools_are_added_are_taken_over_at_once(watch: Callable[[Owners], Watcher]) -> None:
    store = Owners(replace(ELSEWHERE, beat=LEFT))
    store.needed = {"theirs"}
    watcher = watch(store)
    await watcher.look(2 * BEAT)
    watcher.tools = ("mine", "theirs")
    await watcher.look(2 * BEAT)
    assert store.tools == [("mine",), None], "it has all tools now"
    assert store.rows == []


async def test_e5_process_with_a_changing_beat_is_alive(watch: Callable[[Owners], Watcher]) -> None:
    store = Owners(ELSEWHERE)
    watcher = watch(store)
    for beat in range(40):
        store.rows = [replace(ELSEWHERE, beat=beat // 5)]  # slowly, but it goes on
        await watcher.look()
    assert store.dead == []


async def test_e5_silence_while_no_process_polled_does_not_count(watch: Callable[[Owners], Watcher]) -> None:
    """The polling process itself was stopped, and perhaps all others too."""
    store = Owners(ELSEWHERE)
    watcher = watch(store)
    await watcher.look()
    watcher.now += 3_600
    await watcher.look()
    assert store.dead == []


async def test_e5_silence_during_an_outage_of_the_store_does_not_count(watch: Callable[[Owners], Watcher]) -> None:
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


async def test_e5_process_with_a_held_lock_is_alive_without_beats(
    watch: Callable[[Owners], Watcher],
) -> None:
    store = Owners(ELSEWHERE)
    store.locks["other"] = True
    watcher = watch(store)
    await watcher.look(10 * LONG_LEASE)
    assert store.dead == []
    store.locks["other"] = False
    await watcher.look()
    assert store.dead == ["other"], "it has been silent for long enough"


async def test_e5_process_known_only_by_its_beat_has_a_long_lease(
    watch: Callable[[Owners], Watcher],
) -> None:
    store = Owners(ELSEWHERE)
    store.locks.clear()
    watcher = watch(store)
    await watcher.look(LONG_LEASE)
    assert store.dead == []
    await watcher.look()
    assert store.dead == ["other"]


async def test_e5_work_of_a_process_that_left_is_recovered_at_once(watch: Callable[[Owners], Watcher]) -> None:
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
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is dead, and not reaped yet
        assert is_dead(theirs)
    assert is_dead(theirs)


@pytest.mark.parametrize(
    ("here", "locked", "still", "state"),
    [
        (False, True, 0.0, ProcessState.DIED),  # a forked child has its lock
        (False, None, 0.0, ProcessState.DIED),
        (True, True, 1e6, ProcessState.LIVES),
        (True, None, 1e6, ProcessState.LIVES),
        (True, False, LEASE, ProcessState.LIVES),  # the database was restarted while its interpreter was held up
        (True, False, LONG_LEASE, ProcessState.LAPSED),  # its runtime ended without telling the store
        (None, True, 1e6, ProcessState.LIVES),
        (None, False, LEASE - 0.1, ProcessState.LIVES),
        (None, False, LEASE, ProcessState.LAPSED),
        (None, None, LONG_LEASE - 0.1, ProcessState.LIVES),
        (None, None, LONG_LEASE, ProcessState.LAPSED),
    ],
)
def test_e5_operating_system_and_lock_outweigh_the_beat(
    here: bool | None, locked: bool | None, still: float, state: ProcessState
) -> None:
    assert process_state(5, here, locked, still) is state
    assert process_state(LEFT, here, locked, still) is ProcessState.LEFT
    assert process_state(RECOVERING, here, locked, still) is ProcessState.TAKEN


def test_e5_leases_are_longer_than_a_handler_that_blocks_the_interpreter() -> None:
    assert LEASE > 4.3 + 2 * BEAT
    assert LONG_LEASE > 15.0 + 2 * BEAT


@pytest.mark.parametrize(
    ("beat", "here", "said"),
    [
        (LEFT, None, "other ended and left work behind"),
        (RECOVERING, None, "the rest of the work of other is recovered"),
        (5, False, "other died"),
        (5, None, "other lost its lease"),
    ],
)
async def test_e5_the_log_says_how_a_process_ended(
    beat: int,
    here: bool | None,
    said: str,
    watch: Callable[[Owners], Watcher],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "callboard.heartbeat")
    monkeypatch.setattr(heartbeat, "lives_here", lambda owner: here)
    await watch(Owners(replace(ELSEWHERE, beat=beat))).look(LEASE + BEAT)
    assert [said in message for message in caplog.messages] == [True]
    assert "gone" not in caplog.text


def test_e5_unknown_state_of_a_process_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    me = this_process()
    assert lives_here(me) is True
    assert lives_here(replace(me, host="another machine")) is None
    monkeypatch.setattr(liveness, "_started", lambda pid: None)  # the system hides other processes
    assert lives_here(me) is None
