"""A plan as a model and people read it. No I/O."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from .graph import Group, GroupState, blocked_groups, is_over, ready_groups
from .records import GroupRecord


class GroupSummary(BaseModel):
    """A group and its state."""

    name: str
    description: str
    state: GroupState
    results: list[Any] | None = Field(default=None, description="Results of its operations, in order, as far as done")
    error: str | None = Field(default=None, description="Why it failed")
    blocked_by: str | None = Field(default=None, description="The failed group that it waits for, so it will not run")


class PlanSummary(BaseModel):
    """A plan and the states of its groups."""

    plan_id: str
    state: GroupState = Field(description="todo, in_progress, done, or failed if a group failed and nothing runs")
    ready: list[str] = Field(description="Names of the groups that can start now")
    groups: list[GroupSummary]


def group_summary(group: Group[Any], record: GroupRecord, blocked_by: str | None = None) -> GroupSummary:
    """Describe a group."""
    results = [each.result for each in record.operations if each.is_done]
    return GroupSummary(
        name=group.name,
        description=group.description,
        state=record.state,
        results=results or None,
        error=record.error,
        blocked_by=blocked_by,
    )


def plan_summary(plan_id: str, groups: Sequence[Group[Any]], records: Mapping[str, GroupRecord]) -> PlanSummary:
    """Describe a plan."""
    states = {name: record.state for name, record in records.items()}
    causes = {blocked.name: blocked.because for blocked in blocked_groups(groups, states)}
    return PlanSummary(
        plan_id=plan_id,
        state=_plan_state(groups, states),
        ready=ready_groups(groups, states),
        groups=[group_summary(group, records[group.name], causes.get(group.name)) for group in groups],
    )


def _plan_state(groups: Sequence[Group[Any]], states: Mapping[str, GroupState]) -> GroupState:
    found = set(states.values())
    if found == {GroupState.DONE}:
        return GroupState.DONE
    if found == {GroupState.TODO}:
        return GroupState.TODO
    if GroupState.FAILED in found and is_over(groups, states):
        return GroupState.FAILED
    return GroupState.IN_PROGRESS
