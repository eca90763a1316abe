"""Several processes on one store: the work of dead processes is taken over, live processes keep theirs (E5, D2)."""

import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from callboard.adapters.stores.postgres.advisory_locks import lock_key
from callboard.sessions.liveness import LEASE
from tests import forked

from .process import Child
from .scenario import Scenario, Scenarios
from .waiting import busy, until

QUICK = 0.5
"""The pace of processes whose leases end within a test."""
SLOW = 4.0
"""The pace of processes whose leases outlast a test."""


def owners(url: str) -> dict[int, tuple[str, int]]:
    """Return the names and beats of the registered processes, by process id."""
    with psycopg.connect(url) as connection:
        return {pid: (name, beat) for name, pid, beat in connection.execute("SELECT id, pid, beat FROM owners")}


def cut_off(url: str, child: Child) -> None:
    """End the connection that holds the lock of a process."""
    name, _ = owners(url)[child.pid]
    with psycopg.connect(url) as connection:
        key = lock_key(name) & (2**64 - 1)
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks"
            " WHERE locktype = 'advisory' AND classid = %s AND objid = %s",
            (key >> 32, key & (2**32 - 1)),
        ).fetchall()
        assert ended == [(True,)], "it holds its lock"


def accounted_for(here: Scenario, *interrupted: Child, declared_dead: tuple[Child, ...] = ()) -> None:
    """Check that nothing is lost or doubled, and that only calls of these processes are interrupted."""
    verdict = here.audit(*declared_dead)
    assert verdict.clean, f"{verdict}\n{here.logs()}"
    assert verdict.interrupted_in <= {child.who for child in interrupted}, f"{verdict}\n{here.logs()}"


@pytest.mark.parametrize("machine", [None, "another machine"])
def test_d2_process_takes_over_from_one_that_was_killed(
    machine: str | None, shared_postgres: str, tmp_path: Path, scenarios: Scenarios
) -> None:
    with scenarios(shared_postgres, tmp_path) as here:
        pace = SLOW if machine is None else QUICK
        heir = here.start(0, pace=pace)
        victim = here.start(1, pace=pace, machine=machine)
        for child in (heir, victim):
            child.until_ready()
        busy(victim)
        start = time.monotonic()
        victim.kill()
        until(lambda: victim.pid not in owners(here.store))
        sooner = time.monotonic() - start < 0.5 * pace * LEASE
        assert sooner == (machine is None), "on the same machine it is seen before its lease ends"
        busy(heir)
        heir.end()
        assert owners(here.store) == {}
        here.rest()  # the next process uses an answer that was given while the other ended
        accounted_for(here, victim)
        assert owners(here.store) == {}


def test_d2_process_that_lost_its_lease_writes_nothing_of_what_it_lost(
    shared_postgres: str, tmp_path: Path, scenarios: Scenarios
) -> None:
    """A stopped process on another machine whose connections broke cannot be recognised as alive."""
    with scenarios(shared_postgres, tmp_path) as here:
        heir = here.start(0, pace=QUICK)
        sleeper = here.start(1, pace=QUICK, machine="another machine")
        for child in (heir, sleeper):
            child.until_ready()
        busy(sleeper)
        sleeper.signal(signal.SIGSTOP)
        cut_off(here.store, sleeper)
        until(lambda: sleeper.pid not in owners(here.store))
        until(lambda: "lost its lease" in heir.log_tail)
        assert "died" not in heir.log_tail
        sleeper.signal(signal.SIGCONT)
        until(lambda: sleeper.pid in owners(here.store))  # it has noticed, and joined again
        busy(sleeper)
        sleeper.end()
        heir.end()
        here.rest()  # the next process uses an answer that was given while both ended
        accounted_for(here, sleeper, declared_dead=(sleeper,))


@pytest.mark.parametrize("machine", [pytest.param(None, marks=pytest.mark.slow), "another machine"])
@pytest.mark.parametrize("stopped", [pytest.param(False, marks=pytest.mark.slow), True])
def test_e5_process_with_a_blocked_interpreter_or_stopped_keeps_its_work(
    stopped: bool, machine: str | None, any_store: str, tmp_path: Path, scenarios: Scenarios
) -> None:
    """One of its executions is not idempotent, and neither ends in another process."""
    held_for = 3 * QUICK * LEASE
    calls = (("c1", "crunch", {"number": 1, "pause": 60.0}), ("c2", "research", {"number": 2, "pause": 60.0}))
    hold = (("c3", "hold", {"number": 3, "pause": 0.1 if stopped else held_for}),)
    with scenarios(any_store, tmp_path) as here:
        other = here.start(0, pace=QUICK, sessions=("s2",))
        other.until_ready()
        script = [("call", call) for call in (*calls, *hold)]
        child = here.start(1, role="script", script=script, pace=QUICK, sessions=("s1",), machine=machine)
        child.until(lambda fact: fact["what"] == "begin" and fact["tool"] == "hold")
        if stopped:
            child.signal(signal.SIGSTOP)
            began = time.monotonic()
            until(lambda: time.monotonic() > began + held_for)
            child.signal(signal.SIGCONT)
        child.until(lambda fact: fact["what"] == "end" and fact["tool"] == "hold")
        busy(other)  # it has polled since
        rows = here.kept("s1").by_call
        assert {call_id: (rows[call_id].status, rows[call_id].attempt) for call_id in ("c1", "c2")} == {
            "c1": ("executing", 1),
            "c2": ("executing", 1),
        }
        assert len({rows["c1"].owner, rows["c2"].owner}) == 1
        other.end()
        for word in ("died", "lost its lease", "left work behind"):
            assert word not in here.logs()


def test_e5_process_with_a_blocked_event_loop_keeps_its_work(
    shared_postgres: str, tmp_path: Path, scenarios: Scenarios
) -> None:
    blocked_for = 1.5 * QUICK * LEASE
    script = (("call", ("c1", "block", {"number": 4, "pause": blocked_for})),)
    with scenarios(shared_postgres, tmp_path) as here:
        other = here.start(0, pace=QUICK, sessions=("s2",))
        other.until_ready()
        child = here.start(1, role="script", script=script, pace=QUICK, sessions=("s1",), machine="another machine")
        child.until(lambda fact: fact["what"] == "begin")
        name, beat = owners(here.store)[child.pid]
        child.until(lambda fact: fact["what"] == "outcome")
        assert owners(here.store)[child.pid][0] == name
        assert owners(here.store)[child.pid][1] > beat + 2, "its beat went on"
        child.kill()
        other.end()
        row = here.kept("s1").by_call["c1"]
        assert row.status == "succeeded"


@pytest.mark.parametrize("killed", [False, True])
def test_e5_process_beside_a_server_neither_takes_nor_loses_work(
    killed: bool, any_store: str, tmp_path: Path, scenarios: Scenarios
) -> None:
    """The second process takes nothing over, like a command line; its own work is taken over after its end."""
    with scenarios(any_store, tmp_path) as here:
        server = here.start(0)
        server.until_ready()
        beside = here.start(1, role="beside")
        beside.until_ready()
        busy(server)
        busy(beside)
        if killed:
            beside.kill()
        else:
            beside.end()
        busy(server)
        server.end()
        here.rest()  # the next process uses an answer that was given while the server ended
        accounted_for(here, *([beside] if killed else []))


def test_e5_command_line_beside_a_server_answers_and_recovers_nothing(file_scenario: Scenario) -> None:
    here, long = file_scenario, ("c1", "crunch", {"number": 1, "pause": 60.0})
    server = here.start(role="script", script=(("call", long), ("call", ("c2", "pay", {"number": 2}))))
    server.until(lambda fact: fact.get("kind") == "tool_executing")
    server.until(lambda fact: fact.get("kind") == "human_request")
    [request] = here.kept().requests

    def command(words: str) -> str:
        return forked.run(*words.split(), "--store", here.store, "--json", cwd=here.folder, env=os.environ)

    with ThreadPoolExecutor() as together:
        wanted = {"sessions list": "s1", "sessions show s1": "crunch", "events s1": "tool_executing"}
        looks = [*wanted, "requests list", f"requests answer {request} --approve"]
        for words, output in zip(looks, together.map(command, looks), strict=True):
            assert wanted.get(words, "") in output
    server.until(lambda fact: fact["what"] == "end" and fact["tool"] == "pay")
    assert {row.tool: row.status for row in here.kept().executions.values()}["crunch"] == "executing"
    server.kill()
    here.rest()
    accounted_for(here, server)


def test_x10_two_processes_that_make_the_same_calls_run_each_once(
    any_store: str, tmp_path: Path, scenarios: Scenarios
) -> None:
    ids = [f"c{number}" for number in range(60)]
    script = tuple(("call", (call_id, "look", {"number": 4})) for call_id in ids)
    with scenarios(any_store, tmp_path) as here:
        children = [here.start(number, role="script", script=script, visitors=1) for number in (0, 1)]
        until(lambda: all(len(outcomes(child)) == len(ids) for child in children))
        for child in children:
            child.kill()
        begun = Counter(fact["call"] for child in children for fact in child.facts() if fact["what"] == "begin")
        assert begun == dict.fromkeys(ids, 1), f"{sum(count > 1 for count in begun.values())} ran twice"
        one, other = (outcomes(child) for child in children)
        assert one == other, "both get the result of the one execution"


def outcomes(child: Child) -> dict[str, tuple[str, str]]:
    """Return the execution and the status that callers in a process got, by call id."""
    facts = (fact for fact in child.facts() if fact["what"] == "outcome")
    return {fact["call"]: (fact["execution"], fact["status"]) for fact in facts}
