"""Plans of one kind: sets them, tells what comes next, and executes them. The tools of a toolset call it."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Generic

import anyio
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from callboard import DocumentChanged, ToolContext, ToolError

from .executor import GroupT, OperationRunner, PlanRun
from .graph import GroupState, check_graph
from .plan_index import PlanIndex, Use
from .records import GroupRecord, PlanRecord, PlanRecords
from .references import check_references
from .summary import PlanSummary, plan_summary


class Plans(Generic[GroupT]):
    """Plans whose groups are of one type."""

    def __init__(self, group_type: type[GroupT], runner: OperationRunner[GroupT]) -> None:
        self._group: TypeAdapter[GroupT] = TypeAdapter(group_type)
        self._runner = runner

    async def set(self, ctx: ToolContext, groups: Sequence[GroupT]) -> PlanSummary:
        """Check and store a plan. Raises `ToolError` (validation) with the place of what is wrong."""
        check_graph(groups)
        check_references(groups)
        plan_id = f"p{hashlib.sha256(str(ctx.idempotency_key).encode()).hexdigest()[:16]}"
        stored = PlanRecords(ctx, plan_id)
        try:
            plan = PlanRecord(session_id=ctx.session_id, groups=to_jsonable_python(list(groups)), is_listed=True)
            await stored.create(plan)
        except ToolError as error:
            if error.category != "validation":
                raise
            message = f"groups: the plan is too large. Divide it into several plans: {error.message}"
            raise ToolError(message, category="validation") from error
        try:
            await PlanIndex(ctx).add(plan_id)
        except ToolError as error:
            if error.category == "resource":
                await stored.delete()
            raise
        return await self.summary(ctx, plan_id)

    async def summary(self, ctx: ToolContext, plan_id: str) -> PlanSummary:
        """Describe a plan as it is now. Raises `ToolError` (not_found)."""
        stored = PlanRecords(ctx, plan_id)
        groups = self._read(await stored.plan())
        return plan_summary(plan_id, groups, await _records(stored, groups))

    async def execute(self, ctx: ToolContext, plan_id: str) -> PlanSummary:
        """Execute a plan until no group can run, and return its summary.

        A new call continues a plan: groups that failed run again, without the operations that are done. Raises
        `ToolError`: not_found, or `resource` if another call executes the plan.
        """
        stored = PlanRecords(ctx, plan_id)
        plan = await stored.plan()
        groups = self._read(plan)
        is_new = plan.executor != ctx.execution_id
        if is_new:
            await _claim(ctx, stored, plan)
        if plan.is_listed and not await PlanIndex(ctx).set_use(plan_id, Use.EXECUTING):
            raise stored.missing()
        records = await _records(stored, groups)
        if is_new:
            for name, record in records.items():
                if record.state in (GroupState.FAILED, GroupState.IN_PROGRESS):
                    record.state, record.error = GroupState.TODO, None
                    await stored.save_group(name, record)
        try:
            await PlanRun(ctx, groups, self._runner, stored, records).run()
        except asyncio.CancelledError:
            if plan.is_listed and ctx.cancelled:  # not if the process stops: then the call continues in another one
                with anyio.CancelScope(shield=True):
                    await _note_end(ctx, plan_id, records)
            raise
        if plan.is_listed:
            await _note_end(ctx, plan_id, records)
        return plan_summary(plan_id, groups, records)

    def _read(self, plan: PlanRecord) -> list[GroupT]:
        try:
            return [self._group.validate_python(each) for each in plan.groups]
        except ValidationError as error:
            message = "The plan was made by another version of these tools. Set it again with set_execution_plan."
            raise ToolError(message, category="permanent", report=str(error)) from error


async def _note_end(ctx: ToolContext, plan_id: str, records: Mapping[str, GroupRecord]) -> None:
    """Note what a plan is needed for that no call executes now."""
    use = Use.IDLE
    if any(each.journal is not None for record in records.values() for each in record.operations):
        use = Use.HELD
    elif all(record.state is GroupState.DONE for record in records.values()):
        use = Use.DONE
    await PlanIndex(ctx).set_use(plan_id, use)


async def _claim(ctx: ToolContext, stored: PlanRecords, plan: PlanRecord) -> None:
    """Make this call the one that executes the plan."""
    if plan.session_id != ctx.session_id:
        raise ToolError("The plan belongs to another conversation. Execute it there.", category="permission")
    if plan.executor is not None and await ctx.is_running(plan.executor):
        raise _executed_elsewhere(plan.executor)
    plan.executor = ctx.execution_id
    try:
        await stored.save_plan(plan)
    except DocumentChanged as error:
        raise _executed_elsewhere("another call") from error


async def _records(stored: PlanRecords, groups: Sequence[Any]) -> dict[str, GroupRecord]:
    return {group.name: await stored.group(group.name, len(group.operations)) for group in groups}


def _executed_elsewhere(executor: str) -> ToolError:
    return ToolError(
        f"The plan is being executed by {executor}. Wait for its result, or cancel it first.", category="resource"
    )
