"""Recovery of each sort of execution after its process was killed at a known instant (E5)."""

import asyncio
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from callboard import Runtime

from .load import user_of
from .scenario import Scenario, Scenarios
from .tools import TOOLS, WORKERS, current
from .witness import Witness

LONG = 60.0
"""Seconds that a first attempt takes: until it is killed."""


def call(tool: str, call_id: str = "c1", **arguments: Any) -> tuple[str, Any]:
    return "call", (call_id, tool, {"number": 4, **arguments})


def left(here: Scenario, *script: tuple[str, Any], inside: str | None = None) -> None:
    """Have a process carry out steps, and kill it: within a handler whose start is stored, or after the last step."""
    child = here.start(role="script", script=script, visitors=1)
    for number, _ in enumerate(script, 1):
        child.until(lambda fact, number=number: fact["what"] == "did" and fact["number"] == number)
    if inside is not None:
        child.until(lambda fact: fact["what"] == "begin" and fact["tool"] == inside)
        child.until(lambda fact: fact.get("kind") == "tool_executing" and fact["tool"] == inside)
    child.kill()


def settled(here: Scenario) -> None:
    here.rest(sessions=("s1",), visitors=1)
    verdict = here.audit()
    assert verdict.clean, f"{verdict}\n{here.logs()}"


def test_e5_idempotent_tool_runs_again_with_the_same_id(file_scenario: Scenario) -> None:
    left(file_scenario, call("research", pause=LONG), inside="research")
    settled(file_scenario)
    kept = file_scenario.kept()
    row = kept.by_call["c1"]
    assert (row.status, row.attempt, from_json(row.errors)[0]["category"]) == ("succeeded", 2, "interrupted")
    assert [line.kind for line in kept.events_of[row.id] if line.kind in ("tool_executing", "tool_retrying")] == [
        "tool_executing",
        "tool_retrying",
        "tool_executing",
    ]


def test_e5_tool_that_is_not_idempotent_is_interrupted(file_scenario: Scenario) -> None:
    left(file_scenario, call("crunch", pause=LONG), inside="crunch")
    settled(file_scenario)
    row = file_scenario.kept().by_call["c1"]
    assert row.status == "failed"
    assert from_json(row.error or b"")["category"] == "interrupted"
    assert "not known whether the call took effect" in from_json(row.error or b"")["message"]
    assert row.started_at is not None


def test_e5_approved_idempotent_call_runs_again_without_another_request(file_scenario: Scenario) -> None:
    edited = {"key": "c1", "number": 50, "pause": LONG}
    left(
        file_scenario,
        call("remind", pause=LONG),
        ("answer", {"approved": True, "arguments": edited}),
        inside="remind",
    )
    settled(file_scenario)
    kept = file_scenario.kept()
    row = kept.by_call["c1"]
    assert (row.status, row.attempt, from_json(row.value or b"")["doubled"]) == ("succeeded", 2, 100)
    assert [request.status for request in kept.requests.values()] == ["used"]


def test_e5_approved_call_that_is_not_idempotent_is_interrupted(file_scenario: Scenario) -> None:
    left(file_scenario, call("pay", pause=LONG), ("answer", {"approved": True}), inside="pay")
    settled(file_scenario)
    kept = file_scenario.kept()
    assert from_json(kept.by_call["c1"].error or b"")["category"] == "interrupted"
    assert [request.status for request in kept.requests.values()] == ["used"]


def test_e5_request_to_a_person_stays_open(file_scenario: Scenario) -> None:
    left(file_scenario, *(call("pay", f"c{number}") for number in range(3)), ("ask", "q.1"))
    settled(file_scenario)  # which answers the first and the third
    kept = file_scenario.kept()
    assert [request.status for request in kept.requests.values()].count("open") == 1
    assert [row.owner for row in kept.executions.values() if row.completed_at is None] == [None], "no process owns it"


def test_e5_workers_answer_people_after_a_crash_too(file_scenario: Scenario) -> None:
    # The first may run twice (a multiple of three), the second must not.
    left(file_scenario, ("ask", "q.3"), ("ask", "q.4"))
    settled(file_scenario)
    kept = file_scenario.kept()
    answers = {line.data["request_id"]: line.data for line in kept.lines if line.kind == "user_response"}
    assert answers["q.3"]["payload"] == {"doubled": 6}
    assert answers["q.4"]["payload"] == {"doubled": 8} or answers["q.4"]["error"]["category"] == "interrupted"
    assert kept.row.unconsumed == (), "the model has nothing to do with it"


def test_e5_nested_calls_of_a_dead_call_end_with_it(file_scenario: Scenario) -> None:
    left(file_scenario, call("order", pause=LONG), inside="charge")
    settled(file_scenario)
    kept = file_scenario.kept()
    parent = kept.by_call["c1"]
    [child] = [row for row in kept.executions.values() if row.parent_id == parent.id]
    assert from_json(child.error or b"")["category"] == from_json(parent.error or b"")["category"] == "interrupted"
    assert child.id not in kept.row.unconsumed, "only its caller would have got the result"


def test_e5_call_cancelled_during_a_request_leaves_no_open_request(file_scenario: Scenario) -> None:
    left(file_scenario, call("pay"), ("cancel", "c1"))
    settled(file_scenario)
    kept = file_scenario.kept()
    row = kept.by_call["c1"]
    assert (row.status, [request.status for request in kept.requests.values()]) == ("cancelled", ["withdrawn"])


def test_e5_results_that_were_not_taken_wait(file_scenario: Scenario) -> None:
    left(file_scenario, call("crunch", "c1", pause=LONG), call("research", "c2", pause=LONG), inside="research")
    asyncio.run(_results_are_there(file_scenario))
    assert file_scenario.audit().doubled == []


async def _results_are_there(here: Scenario) -> None:
    current.witness = Witness(here.witness, "test")
    async with Runtime(TOOLS, workers=WORKERS, store=here.store) as runtime:
        session = await runtime.open("s1", user_of("s1"))
        for record in await session.history():
            await session.result(record.id, timeout=90)
        assert session.has_pending_work
        taken = await session.take_results()
        assert {outcome.call_id for outcome in taken} == {"c1", "c2"}
        assert await session.take_results() == []
        assert not session.has_pending_work


def test_e5_retry_waits_for_its_time_after_its_process_was_killed(
    any_store: str, tmp_path: Path, scenarios: Scenarios
) -> None:
    delay = 4.0
    with scenarios(any_store, tmp_path) as here:
        child = here.start(role="script", script=(call("flaky", after=delay),), visitors=1)
        child.until(lambda fact: fact.get("kind") == "tool_retrying")
        child.kill()
        settled(here)
        kept = here.kept()
    row = kept.by_call["c1"]
    assert (row.status, row.attempt, row.retry_at) == ("succeeded", 2, None)
    times = {line.kind: line.at for line in kept.events_of[row.id]}  # of each kind the last
    assert times["tool_executing"] - times["tool_retrying"] >= delay - 0.002, "events have their times in milliseconds"


def test_x10_repeat_of_a_call_of_an_earlier_process_leaves_no_trace(file_scenario: Scenario) -> None:
    left(file_scenario, call("plan", "c1"), call("look", "c2"), call("tally", "c3"), call("fail", "c4"), ("take", None))
    settled(file_scenario)
    before = file_scenario.kept()
    settled(file_scenario)  # a new process repeats all calls
    after = file_scenario.kept()
    assert after.executions.keys() == before.executions.keys()
    assert len(after.lines) == len(before.lines)
