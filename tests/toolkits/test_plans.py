"""Plans of any tools: what is refused, what runs at once, what a failure stops, and what a restart repeats."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import pytest

from callboard import Outcome, Runtime, Session, ToolContext, ToolError, tool
from callboard.testing import Harness
from callboard.toolkits import plans
from callboard.toolkits.plans import Group, Plans, Step, ToolOperation, plan_tools
from callboard.toolkits.plans.records import GroupRecord, PlanRecords

pytestmark = pytest.mark.anyio

SOON = 90.0
runs: Counter[str] = Counter()
held: dict[str, asyncio.Event] = {}


@pytest.fixture(autouse=True)
def _fresh() -> None:
    runs.clear()
    held.clear()


@tool(idempotent=True)
async def echo(text: Annotated[str, "What to return"]) -> dict[str, str]:
    """Return a text, and count it."""
    runs[text] += 1
    return {"text": text}


@tool
async def fail(text: Annotated[str, "Why"]) -> str:
    """Fail, while no event is set."""
    runs[text] += 1
    if text not in held:
        raise ToolError(f"{text} is broken.", category="permanent")
    return text


@tool(mode="background", idempotent=True)
async def hold(text: Annotated[str, "What to wait for"]) -> str:
    """Wait to be released."""
    runs[text] += 1
    await held.setdefault(text, asyncio.Event()).wait()
    return text


@tool(mode="human", idempotent=True)
async def sign(text: Annotated[str, "What to sign"]) -> str:
    """Sign a text, once a person agrees."""
    runs[text] += 1
    return f"{text}, signed"


TOOLS = (echo, fail, hold, sign, *plans.tools)


def group(name: str, *operations: tuple[str, str], after: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"the group {name}",
        "operations": [{"tool": each, "arguments": json.dumps({"text": text})} for each, text in operations],
        "dependencies": list(after),
    }


async def set_plan(session: Session, *groups: dict[str, Any]) -> str:
    outcome = await session.call("set_execution_plan", {"groups": list(groups)})
    assert outcome.error is None, outcome.error
    return outcome.value["plan_id"]


async def execute(session: Session, plan_id: str) -> Outcome:
    outcome = await session.call("execute_plan", {"plan_id": plan_id})
    async with asyncio.timeout(SOON):
        return await session.result(outcome.execution_id)


def states(value: Any) -> dict[str, str]:
    return {each["name"]: each["state"] for each in value["groups"]}


async def until(counted: str, times: int = 1) -> None:
    async with asyncio.timeout(SOON):
        while runs[counted] < times:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_k3_groups_run_after_their_dependencies_and_use_their_results() -> None:
    async with Harness(*TOOLS) as harness:
        plan_id = await set_plan(
            harness.session,
            group("last", ("echo", "{{first.1.text}} and {{second.0.text}}"), after=["second"]),
            group("first", ("echo", "one"), ("echo", "again {{first.0.text}}")),
            group("second", ("echo", "two"), after=["first"]),
        )
        coming = (await harness.session.call("next_groups", {"plan_id": plan_id})).value
        assert (coming["state"], coming["ready"]) == ("todo", ["first"])
        outcome = await execute(harness.session, plan_id)
        assert states(outcome.value) == {"last": "done", "first": "done", "second": "done"}
        assert outcome.value["state"] == "done"
        assert outcome.value["groups"][0]["results"] == [{"text": "again one and two"}]
        shown = [event.data for event in harness.events(outcome.execution_id) if event.kind == "tool_progress"]
        assert [each["fraction"] for each in shown] == sorted(each["fraction"] for each in shown)
        assert (shown[0]["stage"], shown[-1]["stage"], shown[-1]["fraction"]) == (
            "first: in progress",
            "last: done",
            1.0,
        )
        partial = [
            event.data["value"] for event in harness.events(outcome.execution_id) if event.kind == "tool_partial"
        ]
        assert [each["name"] for each in partial] == ["first", "second", "last"]


async def test_k3_ready_groups_run_concurrently_and_a_failure_stops_only_what_depends_on_it() -> None:
    async with Harness(*TOOLS) as harness:
        plan_id = await set_plan(
            harness.session,
            group("slow", ("hold", "slow")),
            group("broken", ("fail", "engine")),
            group("behind", ("echo", "behind"), after=["broken"]),
            group("further", ("echo", "further"), after=["behind"]),
            group("free", ("echo", "free"), after=["slow"]),
        )
        started = await harness.session.call("execute_plan", {"plan_id": plan_id})
        await until("slow")
        await until("engine")
        coming = (await harness.session.call("next_groups", {"plan_id": plan_id})).value
        assert states(coming)["slow"] == "in_progress"
        held["slow"].set()
        value = (await harness.session.result(started.execution_id)).value
        assert value["state"] == "failed"
        assert states(value) == {
            "slow": "done",
            "broken": "failed",
            "behind": "todo",
            "further": "todo",
            "free": "done",
        }
        by_name = {each["name"]: each for each in value["groups"]}
        assert by_name["broken"]["error"] == "operations[0]: engine is broken."
        assert by_name["further"]["blocked_by"] == by_name["behind"]["blocked_by"] == "broken"
        assert runs == {"slow": 1, "engine": 1, "free": 1}


async def test_k3_second_execution_repeats_only_what_is_not_done() -> None:
    async with Harness(*TOOLS) as harness:
        plan_id = await set_plan(
            harness.session, group("a", ("echo", "one"), ("fail", "two")), group("b", ("echo", "three"), after=["a"])
        )
        assert (await execute(harness.session, plan_id)).value["state"] == "failed"
        held["two"] = asyncio.Event()
        assert (await execute(harness.session, plan_id)).value["state"] == "done"
        assert runs == {"one": 1, "two": 2, "three": 1}
        third = await execute(harness.session, plan_id)
        assert third.value["state"] == "done"
        assert runs == {"one": 1, "two": 2, "three": 1}
        shown = [each.data["value"] for each in harness.events(third.execution_id) if each.kind == "tool_partial"]
        assert [(each["name"], each["state"]) for each in shown] == [("a", "done"), ("b", "done")]


async def test_k3_plan_is_executed_by_one_call_at_a_time() -> None:
    async with Harness(*TOOLS) as harness:
        plan_id = await set_plan(harness.session, group("a", ("hold", "a")))
        first = await harness.session.call("execute_plan", {"plan_id": plan_id})
        await until("a")
        second = await execute(harness.session, plan_id)
        assert second.error is not None
        assert (second.error.category, first.execution_id in second.error.message) == ("resource", True)
        await harness.session.cancel(first.execution_id)
        assert (await harness.session.result(first.execution_id)).status == "cancelled"
        held["a"].set()
        assert (await execute(harness.session, plan_id)).value["state"] == "done"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "groups: the plan is empty"),
        ([group("a", ("echo", "x"), after=["b"])], "groups[0].dependencies[0]: there is no group 'b'"),
        ([group("a", ("echo", "x"), after=["b"]), group("b", ("echo", "x"), after=["a"])], "a → b → a"),
        (
            [group("a", ("echo", "x")), group("b", ("echo", "{{a.0.text}}"))],
            "groups[1].operations[0].arguments.text: {{a.0.text}} needs 'a' among the dependencies of 'b'",
        ),
        ([group("a", ("echo", "{{a.0.text}}"))], "is the result of this operation or of a later one"),
        (
            [group("a", ("echo", "x")), group("b", ("echo", "{{a.1}}"), after=["a"])],
            "does not exist: the group has 1 operations",
        ),
        ([group(name, ("echo", name * 90_000)) for name in "abc"], "groups: the plan is too large. Divide it"),
    ],
)
async def test_k3_plan_that_cannot_be_carried_out_is_refused_with_its_place(
    groups: list[dict[str, Any]], message: str
) -> None:
    async with Harness(*TOOLS) as harness:
        outcome = await harness.session.call("set_execution_plan", {"groups": groups})
        assert outcome.error is not None
        assert outcome.error.category == "validation"
        assert message in outcome.error.message


async def test_k3_reference_to_a_missing_part_fails_its_group() -> None:
    async with Harness(*TOOLS) as harness:
        plan_id = await set_plan(
            harness.session, group("a", ("echo", "x")), group("b", ("echo", "{{a.0.words}}"), after=["a"])
        )
        value = (await execute(harness.session, plan_id)).value
        assert value["groups"][1]["error"] == ("operations[0]: The result of a.0 has no 'words' ({{a.0.words}}).")


async def test_k3_plans_of_other_users_and_sessions_cannot_be_executed() -> None:
    async with Runtime(TOOLS) as runtime:
        mine = await runtime.open("one", "ann")
        plan_id = await set_plan(mine, group("a", ("echo", "x")))
        stranger = await runtime.open("three", "bob")
        for name in ("next_groups", "execute_plan"):
            outcome = await stranger.call(name, {"plan_id": plan_id})
            outcome = outcome if outcome.done else await stranger.result(outcome.execution_id)
            assert outcome.error is not None
            assert outcome.error.category == "not_found"
        other = await execute(await runtime.open("two", "ann"), plan_id)
        assert other.error is not None
        assert other.error.category == "permission"
        assert not runs


async def shown_groups(session: Session, execution_id: str) -> list[str]:
    """Return the names of the groups that the last attempt of a call has shown."""
    names: list[str] = []
    async for event in session.events(after=0):
        if event.data.get("execution_id") == execution_id:
            if event.kind == "tool_executing":
                names.clear()
            elif event.kind == "tool_partial":
                names.append(event.data["value"]["name"])
            elif event.kind == "tool_result":
                break
    return names


async def test_k3_plan_goes_on_after_its_process_ended(shared_url: str) -> None:
    async with asyncio.timeout(2 * SOON):
        async with Runtime(TOOLS, store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            plan_id = await set_plan(
                session,
                group("a", ("echo", "one"), ("sign", "two")),
                group("b", ("echo", "three")),
                group("c", ("echo", "{{a.1}}"), after=["a", "b"]),
            )
            started = await session.call("execute_plan", {"plan_id": plan_id})
            while not (requests := await session.requests()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await until("three")
        async with Runtime(TOOLS, store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            assert [each.id for each in await session.requests()] == [requests[0].id]
            await session.answer(requests[0].id, {"approved": True})
            value = (await session.result(started.execution_id)).value
            assert value["state"] == "done"
            assert value["groups"][2]["results"] == [{"text": "two, signed"}]
            assert await shown_groups(session, started.execution_id) == ["b", "a", "c"]
    assert runs == {"one": 1, "two": 1, "three": 1, "two, signed": 1}


async def test_k3_200_groups_in_a_chain_and_side_by_side() -> None:
    async with Harness(*TOOLS) as harness:
        chain = [group(f"c{n}", ("echo", f"c{n}"), after=[f"c{n - 1}"] if n else []) for n in range(100)]
        wide = [group(f"w{n}", ("echo", f"w{n}")) for n in range(100)]
        plan_id = await set_plan(harness.session, *chain, *wide)
        value = (await execute(harness.session, plan_id)).value
        assert set(states(value).values()) == {"done"}
        assert set(runs.values()) == {1}


async def test_k3_result_that_is_too_large_to_keep_is_left_out_and_its_call_is_not_repeated() -> None:
    async with Harness(*TOOLS) as harness:
        plan_id = await set_plan(harness.session, group("a", ("echo", "x" * 90_000), ("echo", "y" * 90_000)))
        value = (await execute(harness.session, plan_id)).value
        assert value["state"] == "done"
        kept = (await harness.session.call("next_groups", {"plan_id": plan_id})).value["groups"][0]["results"]
        assert kept == [{"text": "x" * 90_000}, {"left_out": "The result has 90,011 bytes."}]
        assert set(runs.values()) == {1}


async def test_k3_journal_of_an_operation_is_kept_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it were removed before, a process that dies in between would carry the operation out twice."""
    stored: list[tuple[object, bool]] = []
    real = PlanRecords.save_group

    async def save_group(self: PlanRecords, name: str, record: GroupRecord) -> None:
        stored.extend((each.journal, each.is_done) for each in record.operations)
        await real(self, name, record)

    class Noting:
        async def run(self, group: Group[ToolOperation], number: int, step: Step) -> Any:
            await step.note({"hash": "0x1"})
            return await step.ctx.call("echo", {"text": "x"})

    monkeypatch.setattr(PlanRecords, "save_group", save_group)
    made = Plans(Group[ToolOperation], Noting())

    @tool(idempotent=True)
    async def set_plan_of_notes(ctx: ToolContext, groups: Annotated[list[Group[ToolOperation]], "Groups"]) -> str:
        """Set a plan."""
        return (await made.set(ctx, groups)).plan_id

    async with Harness(echo, set_plan_of_notes, *plan_tools(made)) as harness:
        plan_id = (await harness.session.call("set_plan_of_notes", {"groups": [group("a", ("echo", "x"))]})).value
        assert (await execute(harness.session, plan_id)).value["state"] == "done"
    journal = {"hash": "0x1"}
    assert stored == [(None, False), (journal, False), (None, True), (None, True)]
