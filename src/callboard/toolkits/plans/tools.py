"""Plans of any tools: an operation is a call of a tool that the session sees."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import from_json

from callboard import Tool, ToolContext, tool

from .executor import GroupT, Step
from .graph import MAX_GROUPS, Group
from .plans import Plans
from .records import PLAN_ID
from .summary import PlanSummary

PlanId = Annotated[str, Field(pattern=PLAN_ID, description="Id that set_execution_plan returned")]


def _parsed(value: Any) -> Any:
    return from_json(value) if isinstance(value, str) else value


JsonObject = Annotated[dict[str, Any], BeforeValidator(_parsed), WithJsonSchema({"type": "string"})]
"""An object that models write as JSON in text: some providers cannot express an object of any shape."""


class ToolOperation(BaseModel):
    """A call of a tool."""

    model_config = ConfigDict(extra="forbid")

    tool: Annotated[str, Field(min_length=1, max_length=128, description="Name of the tool to call")]
    arguments: Annotated[
        JsonObject,
        Field(
            description="Arguments of the call as a JSON object in text. {{group.0.field}} stands for a field of the "
            "result of the first operation of a group among the dependencies"
        ),
    ] = Field(default_factory=dict)


class ToolRunner:
    """Carries out operations that are calls of tools."""

    async def run(self, group: Group[ToolOperation], number: int, step: Step) -> Any:
        """Call the tool, once: after a crash, the same call continues or its recorded value is used."""
        fields = step.fields
        await step.report(fields["tool"])
        return await step.ctx.call(fields["tool"], fields["arguments"], key=step.key)


def plan_tools(plans: Plans[GroupT]) -> tuple[Tool, ...]:
    """Create the tools that list the next groups of a plan and execute it."""

    @tool(idempotent=True)
    async def next_groups(ctx: ToolContext, plan_id: PlanId) -> PlanSummary:
        """Return the groups of a plan with their states, and which of them can start now."""
        return await plans.summary(ctx, plan_id)

    @tool(mode="background", idempotent=True, logout="keep_running")
    async def execute_plan(ctx: ToolContext, plan_id: PlanId) -> PlanSummary:
        """Carry out a plan in the background: groups whose dependencies are done run at once.

        A failed group stops the groups that depend on it. To try again, for example after a rejected request, call
        this again: what is done is not repeated.
        """
        return await plans.execute(ctx, plan_id)

    return next_groups, execute_plan


def plan_toolset() -> Sequence[Tool]:
    """Make the tools for plans of any tools."""
    plans = Plans(Group[ToolOperation], ToolRunner())

    @tool(idempotent=True)
    async def set_execution_plan(
        ctx: ToolContext,
        groups: Annotated[list[Group[ToolOperation]], Field(max_length=MAX_GROUPS, description="Groups of operations")],
    ) -> PlanSummary:
        """Store a plan of calls, in groups that depend on each other. Nothing runs until execute_plan is called."""
        return await plans.set(ctx, groups)

    return tuple(each.with_(namespace="plans", group="plans") for each in (set_execution_plan, *plan_tools(plans)))


tools = plan_toolset()
