"""The graph of a plan: groups, what each depends on, and the states that they pass. No I/O, and nothing of Ethereum."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from callboard import ToolError

MAX_GROUPS = 200
MAX_OPERATIONS = 100

Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
OperationT = TypeVar("OperationT")


class GroupState(StrEnum):
    """Where a group is."""

    TODO = "todo"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    FAILED = "failed"


class Group(BaseModel, Generic[OperationT]):
    """Operations that belong together, and run when the groups that they depend on are done."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[Name, Field(description="Name of the group, unique in the plan")]
    description: Annotated[str, Field(min_length=1, max_length=500, description="What the group achieves")]
    operations: Annotated[
        list[OperationT], Field(min_length=1, max_length=MAX_OPERATIONS, description="Operations, in their order")
    ]
    dependencies: Annotated[list[Name], Field(description="Names of the groups that must be done before")] = []


class Blocked(NamedTuple):
    """A group that will not run."""

    name: str
    because: str
    """The failed group that it depends on, directly or not."""


def check_graph(groups: Sequence[Group[Any]]) -> None:
    """Refuse a plan that cannot be carried out. Raises `ToolError` (validation) that names the place."""
    if not groups:
        raise ToolError("groups: the plan is empty. Give at least one group.", category="validation")
    if len(groups) > MAX_GROUPS:
        raise ToolError(f"groups: there are {len(groups)}; at most {MAX_GROUPS} are allowed.", category="validation")
    names = [group.name for group in groups]
    for number, group in enumerate(groups):
        if names.index(group.name) != number:
            raise ToolError(f"groups[{number}].name: there are two groups {group.name!r}.", category="validation")
        for at, dependency in enumerate(group.dependencies):
            if dependency not in names:
                message = f"groups[{number}].dependencies[{at}]: there is no group {dependency!r}."
                raise ToolError(f"{message} The groups are {', '.join(names[:20])}.", category="validation")
    if cycle := find_cycle({group.name: group.dependencies for group in groups}):
        path = " → ".join(cycle)
        number = names.index(cycle[0])
        raise ToolError(
            f"groups[{number}].dependencies: the groups wait for each other: {path}.", category="validation"
        )


def find_cycle(dependencies: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names along a cycle, the first again at the end; empty if there is none."""
    finished: set[str] = set()
    for start in dependencies:
        path: dict[str, None] = {}
        pending: list[tuple[str, bool]] = [(start, True)]
        while pending:
            name, is_entered = pending.pop()
            if not is_entered:
                del path[name]
                finished.add(name)
            elif name in path:
                names = list(path)
                return [*names[names.index(name) :], name]
            elif name not in finished:
                path[name] = None
                pending.append((name, False))
                pending += [(each, True) for each in reversed(dependencies[name])]
    return []


def ready_groups(groups: Sequence[Group[Any]], states: Mapping[str, GroupState]) -> list[str]:
    """Return the names of the groups that can start now, in the order of the plan."""
    return [
        group.name
        for group in groups
        if states[group.name] is GroupState.TODO
        and all(states[dependency] is GroupState.DONE for dependency in group.dependencies)
    ]


def blocked_groups(groups: Sequence[Group[Any]], states: Mapping[str, GroupState]) -> list[Blocked]:
    """Return the groups that wait for a failed group, and so will not run."""
    dependencies = {group.name: group.dependencies for group in groups}
    causes: dict[str, str] = {name: name for name, state in states.items() if state is GroupState.FAILED}
    is_growing = True
    while is_growing:
        is_growing = False
        for name, needed in dependencies.items():
            cause = next((causes[each] for each in needed if each in causes), None)
            if name not in causes and cause is not None:
                causes[name] = cause
                is_growing = True
    return [
        Blocked(group.name, causes[group.name])
        for group in groups
        if group.name in causes and states[group.name] is GroupState.TODO
    ]


def is_over(groups: Sequence[Group[Any]], states: Mapping[str, GroupState]) -> bool:
    """Whether nothing runs, and nothing can start."""
    return GroupState.IN_PROGRESS not in states.values() and not ready_groups(groups, states)
