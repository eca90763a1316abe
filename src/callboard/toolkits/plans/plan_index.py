"""The list of a user's plans, which bounds how many are stored. A plan that is no longer needed makes room for another.

It is one document, and each write states the version that it replaces. So of two calls, one that removes a plan and one
that executes it, only one succeeds.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from callboard import DocumentChanged, ToolContext, ToolError

from .records import PlanRecords

MAX_PLANS = 50
"""Plans that are stored for a user."""
COLLECTION, KEY = "plans", "index"

ResultT = TypeVar("ResultT")


class Use(StrEnum):
    """How a plan is used, in the order in which plans are evicted."""

    DROPPED = "dropped"
    """For nothing: its documents are being deleted."""
    DONE = "done"
    """For its results."""
    IDLE = "idle"
    """It can be executed, and no effect of it is unknown."""
    EXECUTING = "executing"
    """A call executes it, or did when its process ended."""
    HELD = "held"
    """An operation may have taken effect, such as a transaction that is not confirmed. Only its note tells."""


class _Entry(BaseModel):
    plan_id: str
    use: Use = Use.IDLE


class _Index(BaseModel):
    plans: list[_Entry] = []
    """From the oldest to the newest."""


class PlanIndex:
    """The list of the plans of the user of a call."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx

    async def add(self, plan_id: str) -> None:
        """List a plan, which may be listed already. If there are too many, delete the one that is needed least.

        Raises `ToolError` (resource) if all are in use.
        """
        while (victim := await self._change(lambda index: _add(index, plan_id))) is not None:
            await PlanRecords(self._ctx, victim).delete()
            await self._change(lambda index, dropped=victim: _remove(index, dropped))

    async def set_use(self, plan_id: str, use: Use) -> bool:
        """Note what a plan is needed for. Return False if it is no longer listed, so that it must not be used."""
        return await self._change(lambda index: _set_use(index, plan_id, use))

    async def _change(self, change: Callable[[_Index], ResultT]) -> ResultT:
        """Apply a change to the list, on its newest version."""
        while True:
            found = await self._ctx.documents.get(COLLECTION, KEY)
            before = _read(found and found.value)
            index = before.model_copy(deep=True)
            result = change(index)
            if index == before:
                return result
            try:
                version = 0 if found is None else found.version
                await self._ctx.documents.put(COLLECTION, KEY, to_jsonable_python(index), version=version)
            except DocumentChanged:  # another call was faster
                continue
            return result


def _add(index: _Index, plan_id: str) -> str | None:
    """List a plan if there is room. Otherwise return one that is to be deleted first."""
    if any(each.plan_id == plan_id for each in index.plans):
        return None
    if len(index.plans) < MAX_PLANS:
        index.plans.append(_Entry(plan_id=plan_id))
        return None
    for use in (Use.DROPPED, Use.DONE, Use.IDLE):
        for each in index.plans:
            if each.use is use:
                each.use = Use.DROPPED
                return each.plan_id
    raise ToolError(
        f"There are {MAX_PLANS} plans, and all are being executed, or have an operation that may have taken effect. "
        "Wait for one, or execute one again in its conversation until it is done, such as "
        f"{index.plans[0].plan_id}.",
        category="resource",
    )


def _remove(index: _Index, plan_id: str) -> None:
    index.plans = [each for each in index.plans if each.plan_id != plan_id]


def _set_use(index: _Index, plan_id: str, use: Use) -> bool:
    entry = next((each for each in index.plans if each.plan_id == plan_id and each.use is not Use.DROPPED), None)
    if entry is not None:
        entry.use = use
    return entry is not None


def _read(value: object) -> _Index:
    try:
        return _Index() if value is None else _Index.model_validate(value)
    except ValidationError as error:
        raise ToolError("The stored list of plans cannot be read.", report=str(error)) from error
