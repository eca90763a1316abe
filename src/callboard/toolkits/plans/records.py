"""The stored form of a plan: its groups with the call that executes it, and the state of each group, as documents.

Each group has a document of its own, since groups run concurrently. Every write states the version that it replaces, so
a call that no longer executes the plan cannot write.
"""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from callboard import DocumentChanged, ToolContext, ToolError

from .graph import GroupState

PLAN_ID = "^p[0-9a-f]{16}$"
"""The form of the id of a plan. Its documents are a collection of their own."""
_PLAN = "plan"

RecordT = TypeVar("RecordT", bound=BaseModel)


class OperationRecord(BaseModel):
    """The state of an operation."""

    is_done: bool = False
    result: Any = None
    journal: dict[str, Any] | None = None
    """The note that the runner made before it took effect, such as the hash of a transaction."""


class GroupRecord(BaseModel):
    """The state of a group."""

    state: GroupState = GroupState.TODO
    error: str | None = None
    operations: list[OperationRecord]


class PlanRecord(BaseModel):
    """A plan, and the call that executes it."""

    session_id: str | None
    executor: str | None = None
    """The execution that carries the plan out, or did."""
    groups: list[Any]
    """The groups, as JSON."""
    is_listed: bool = False
    """Whether the plan is in the user's list. Plans of versions without a list are not, and are never deleted."""


class PlanRecords:
    """Reads and writes the documents of one plan, for the user of a call."""

    def __init__(self, ctx: ToolContext, plan_id: str) -> None:
        self._documents = ctx.documents
        self._collection = f"plan.{plan_id}"
        self._plan_id = plan_id
        self._versions: dict[str, int] = {}

    async def create(self, plan: PlanRecord) -> None:
        """Store a new plan. Storing the same plan again has no effect."""
        try:
            await self._put(_PLAN, plan, 0)
        except DocumentChanged:
            if (await self.plan()).groups != plan.groups:
                raise

    async def plan(self) -> PlanRecord:
        """Read the plan. Raises `ToolError` (not_found)."""
        if (found := await self._get(_PLAN)) is None:
            raise self.missing()
        return _parsed(PlanRecord, found)

    def missing(self) -> ToolError:
        """Make the error for a plan that does not exist, or makes room for a new one."""
        return ToolError(
            f"There is no plan {self._plan_id!r}. Use the plan_id that set_execution_plan returned. Of many plans, old "
            "ones are deleted: set it again if it is needed.",
            category="not_found",
        )

    async def delete(self) -> None:
        """Delete the plan with the states of its groups. The plan is first, so that it is never without its states."""
        await self._documents.delete(self._collection, _PLAN)
        while found := await self._documents.list(self._collection):
            for each in found:
                await self._documents.delete(self._collection, each.key)

    async def save_plan(self, plan: PlanRecord) -> None:
        """Replace the plan. Raises `DocumentChanged` if another call has written it since it was read."""
        await self._put(_PLAN, plan, self._versions.get(_PLAN, 0))

    async def group(self, name: str, operations: int) -> GroupRecord:
        """Read the state of a group, which has so many operations."""
        if (found := await self._get(f"group/{name}")) is None:
            return GroupRecord(operations=[OperationRecord() for _ in range(operations)])
        return _parsed(GroupRecord, found)

    async def save_group(self, name: str, group: GroupRecord) -> None:
        """Replace the state of a group. Raises `DocumentChanged` if another call has written it since it was read."""
        key = f"group/{name}"
        await self._put(key, group, self._versions.get(key, 0))

    async def _get(self, key: str) -> Any:
        """Read the value of a document; None if it does not exist. No value of a plan is None."""
        found = await self._documents.get(self._collection, key)
        self._versions[key] = 0 if found is None else found.version
        return None if found is None else found.value

    async def _put(self, key: str, value: BaseModel, version: int) -> None:
        written = await self._documents.put(self._collection, key, to_jsonable_python(value), version=version)
        self._versions[key] = written.version


def _parsed(model: type[RecordT], found: Any) -> RecordT:
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise ToolError("The stored plan cannot be read.", report=str(error)) from error
