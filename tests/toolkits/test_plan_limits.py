"""How many plans a user can have, and which one makes room for a new one."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest

from callboard import Outcome, Runtime, Session, ToolContext, ToolError, tool
from callboard.toolkits import plans
from callboard.toolkits.plans import Group, Plans, Step, ToolOperation, plan_index, plan_tools
from callboard.toolkits.plans.records import PlanRecord, PlanRecords

pytestmark = pytest.mark.anyio

SOON = 90.0
MOST = 3
OLD_PLAN = "p0123456789abcdef"


@pytest.fixture(autouse=True)
def _few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_index, "MAX_PLANS", MOST)


@tool(idempotent=True)
async def echo() -> str:
    """Return a text."""
    return "x"


@tool(idempotent=True)
async def fail() -> str:
    """Fail."""
    raise ToolError("It is broken.", category="permanent")


@tool(mode="human", idempotent=True)
async def sign() -> str:
    """Sign, once a person agrees."""
    return "signed"


def groups(name: str) -> list[dict[str, Any]]:
    return [{"name": "a", "description": "the group", "operations": [{"tool": name}]}]


@tool
async def set_old_plan(ctx: ToolContext) -> None:
    """Store a plan as versions without a list of plans did."""
    await PlanRecords(ctx, OLD_PLAN).create(PlanRecord(session_id=ctx.session_id, groups=groups("echo")))


class Ann:
    """A user with plans."""

    def __init__(self, runtime: Runtime, session: Session) -> None:
        self.runtime = runtime
        self.session = session

    async def set(self, name: str = "echo") -> Outcome:
        return await self.session.call("set_execution_plan", {"groups": groups(name)})

    async def plan(self, name: str = "echo") -> str:
        outcome = await self.set(name)
        assert outcome.error is None, outcome.error
        return outcome.value["plan_id"]

    async def start(self, plan_id: str) -> str:
        return (await self.session.call("execute_plan", {"plan_id": plan_id})).execution_id

    async def execute(self, plan_id: str) -> Outcome:
        return await self.session.result(await self.start(plan_id), timeout=SOON)

    async def has(self, plan_id: str) -> bool:
        return len(await self.runtime.store.documents("ann", f"plan.{plan_id}")) > 0


@asynccontextmanager
async def ann(url: str = "memory://", *tools: Any) -> AsyncGenerator[Ann]:
    given = [*(tools or plans.tools), echo, fail, sign, set_old_plan]
    async with asyncio.timeout(SOON), Runtime(given, store=url) as runtime:
        yield Ann(runtime, await runtime.open("s", "ann"))


async def test_h5_plan_that_is_done_makes_room_before_one_that_is_not(shared_url: str) -> None:
    async with ann(shared_url) as user:
        first, failed, done = [await user.plan(name) for name in ("echo", "fail", "echo")]
        assert (await user.execute(failed)).value["state"] == "failed"
        assert (await user.execute(done)).value["state"] == "done"
        fourth = await user.plan()
        assert [await user.has(each) for each in (first, failed, done, fourth)] == [True, True, False, True]
        fifth = await user.plan()
        assert [await user.has(each) for each in (first, failed, fourth, fifth)] == [False, True, True, True]
        refused = await user.execute(first)
        assert refused.error is not None
        assert (refused.error.category, "set it again" in refused.error.message) == ("not_found", True)
        bob = await user.runtime.open("b", "bob")
        assert (await bob.call("set_execution_plan", {"groups": groups("echo")})).error is None
        assert await user.has(fifth), "plans of other users do not count"


async def test_h5_plan_that_is_executed_is_never_deleted() -> None:
    async with ann() as user:
        executed = [await user.plan("sign") for _ in range(MOST)]
        started = [await user.start(each) for each in executed]
        while len(await user.session.requests()) < MOST:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        another = Ann(user.runtime, await user.runtime.open("s2", "ann"))
        for each in (user, another):
            refused = await each.set()
            assert refused.error is not None
            assert (refused.error.category, executed[0] in refused.error.message) == ("resource", True)
        assert [await user.has(each) for each in executed] == [True] * MOST
        await user.session.cancel(started[1])
        await user.session.result(started[1])
        await another.plan()
        assert [await user.has(each) for each in executed] == [True, False, True]


async def test_h5_plan_with_an_operation_that_may_have_taken_effect_is_never_deleted() -> None:
    class Unsure:
        async def run(self, group: Group[ToolOperation], number: int, step: Step) -> Any:
            await step.note({"hash": "0x1"})
            if group.operations[0].tool == "sign":
                await step.ctx.call("sign", {})
            raise ToolError("It is not known whether it was sent.", category="interrupted")

    made = Plans(Group[ToolOperation], Unsure())

    @tool(idempotent=True)
    async def set_execution_plan(
        ctx: ToolContext, groups: Annotated[list[Group[ToolOperation]], "Groups"]
    ) -> dict[str, Any]:
        """Set a plan."""
        return (await made.set(ctx, groups)).model_dump(mode="json")

    async with ann("memory://", set_execution_plan, *plan_tools(made)) as user:
        cancelled, failed, free = await user.plan("sign"), await user.plan(), await user.plan()
        started = await user.start(cancelled)
        while not await user.session.requests():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await user.session.cancel(started)
        await user.session.result(started)
        assert (await user.execute(failed)).value["state"] == "failed"
        await user.plan()
        assert [await user.has(each) for each in (cancelled, failed, free)] == [True, True, False]


async def test_h5_plans_that_are_set_at_once_are_counted() -> None:
    async with ann() as user:
        outcomes = await asyncio.gather(*(user.set() for _ in range(4 * MOST)))
        stored = [each.value["plan_id"] for each in outcomes if each.value and await user.has(each.value["plan_id"])]
        assert len(stored) == MOST


async def test_h5_deletion_of_a_plan_that_was_interrupted_is_finished_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = PlanRecords.delete

    async def die(self: PlanRecords) -> None:
        raise ToolError("The store does not answer.", category="permanent")

    async with ann() as user:
        first, *_ = [await user.plan() for _ in range(MOST)]
        monkeypatch.setattr(PlanRecords, "delete", die)
        assert (await user.set()).error is not None
        assert await user.has(first)
        refused = await user.execute(first)
        assert refused.error is not None
        assert refused.error.category == "not_found", "it is half deleted"
        monkeypatch.setattr(PlanRecords, "delete", real)
        await user.plan()
        assert not await user.has(first)


async def test_h5_plan_of_a_version_without_a_list_is_kept_and_executed() -> None:
    async with ann() as user:
        assert (await user.session.call("set_old_plan")).error is None
        for _ in range(2 * MOST):
            await user.plan()
        assert (await user.execute(OLD_PLAN)).value["state"] == "done"
        await user.plan()
        assert await user.has(OLD_PLAN)
