"""Carries a plan out: ready groups run concurrently, and what happened is stored before the next step.

It knows groups, states and results; an `OperationRunner` knows what an operation does. A group that fails stops those
that depend on it and no others. After a crash the same call runs again and continues: operations that are done are not
repeated, and one that had begun gets what its runner noted before.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from pydantic_core import to_json

from callboard import ToolContext, ToolError

from .graph import Group, GroupState, ready_groups
from .records import GroupRecord, OperationRecord, PlanRecords
from .references import resolve
from .summary import GroupSummary, group_summary

log = logging.getLogger("callboard.toolkits.plans")

MAX_RUNNING = 16
"""Groups of a plan that run at once."""
MAX_RESULTS = 100_000
"""Bytes of the results of a group that are kept."""

GroupT = TypeVar("GroupT", bound=Group[Any])
GroupT_contra = TypeVar("GroupT_contra", bound=Group[Any], contravariant=True)


class Step:
    """An operation while it runs: its arguments, and what its runner can note and report."""

    def __init__(self, run: "PlanRun[Any]", group: Group[Any], number: int) -> None:
        self._run = run
        self._group = group
        self._number = number
        self.ctx = run.ctx
        self.key = f"{group.name}.{number}"
        """Identifies the operation in its plan."""

    @property
    def fields(self) -> dict[str, Any]:
        """The operation as JSON, with its references replaced by results. Raises `ToolError` (validation)."""
        operation = self._group.operations[self._number].model_dump(mode="json")
        results = {name: [each.result for each in record.operations] for name, record in self._run.records.items()}
        return resolve(operation, results)

    @property
    def journal(self) -> Mapping[str, Any] | None:
        """The note that was made before, in this call or in an earlier one."""
        return self._run.records[self._group.name].operations[self._number].journal

    @property
    def others(self) -> Sequence[OperationRecord]:
        """The stored states of the other operations of the plan."""
        own = self._run.records[self._group.name].operations[self._number]
        return [each for record in self._run.records.values() for each in record.operations if each is not own]

    async def note(self, journal: Mapping[str, Any]) -> None:
        """Store what must be known if the process dies, before the operation takes effect.

        Raises `DocumentChanged` if another call executes the plan now: then do nothing.
        """
        self._run.records[self._group.name].operations[self._number].journal = dict(journal)
        await self._run.save(self._group.name)

    def forget(self) -> None:
        """Remove what was noted, in one write with the failure that the runner raises next: nothing took effect."""
        self._run.records[self._group.name].operations[self._number].journal = None

    async def report(self, stage: str, message: str | None = None) -> None:
        """Report the stage of the operation to people."""
        await self._run.report(f"{self._group.name}: {stage}", message)


class OperationRunner(Protocol[GroupT_contra]):
    """Carries out the operations of one kind of plan."""

    async def run(self, group: GroupT_contra, number: int, step: Step) -> Any:
        """Carry out an operation, and return its result as JSON data. Raises `ToolError` if it fails.

        It may be called again after a crash. What must not happen twice is noted with `step.note`, or is a call with
        a key.
        """
        ...


class PlanRun(Generic[GroupT]):
    """One call that carries a plan out."""

    def __init__(
        self,
        ctx: ToolContext,
        groups: Sequence[GroupT],
        runner: OperationRunner[GroupT],
        stored: PlanRecords,
        records: dict[str, GroupRecord],
    ) -> None:
        self.ctx = ctx
        self._groups = {group.name: group for group in groups}
        self._runner = runner
        self._stored = stored
        self.records = records
        self._running: dict[asyncio.Task[None], str] = {}

    async def run(self) -> None:
        """Run groups until none is ready. Raises what prevents the plan as a whole from being carried out."""
        for name, record in self.records.items():
            if record.state is GroupState.DONE:  # by an earlier call, or before the process died
                await self._show(self._groups[name])
        try:
            while True:
                self._start_ready()
                if not self._running:
                    return
                ended, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    del self._running[task]
                    await task
        finally:
            left = list(self._running)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _start_ready(self) -> None:
        running = set(self._running.values())
        states = {name: record.state for name, record in self.records.items()}
        # A group that was in progress when the process died is not running, and starts again.
        todo = {name: GroupState.TODO if _is_left(state, name, running) else state for name, state in states.items()}
        for name in ready_groups(list(self._groups.values()), todo)[: MAX_RUNNING - len(running)]:
            task = asyncio.create_task(self._run_group(self._groups[name]), name=f"callboard: plan group {name}")
            self._running[task] = name

    async def _run_group(self, group: GroupT) -> None:
        record = self.records[group.name]
        record.state, record.error = GroupState.IN_PROGRESS, None
        await self._save_and_show(group)
        for number, operation in enumerate(record.operations):
            if operation.is_done:
                continue
            try:
                result = await self._runner.run(group, number, Step(self, group, number))
            except ToolError as error:
                record.state, record.error = GroupState.FAILED, f"operations[{number}]: {error.message}"
                await self._save_and_show(group)
                return
            # In one write: without its journal, an operation that is not done would take effect again.
            operation.is_done, operation.result, operation.journal = True, _bounded(result, record), None
            await self.save(group.name)
        record.state = GroupState.DONE
        await self._save_and_show(group)

    async def save(self, name: str) -> None:
        """Store the state of a group."""
        await self._stored.save_group(name, self.records[name])

    async def report(self, stage: str, message: str | None) -> None:
        """Report a stage, with the part of all operations that is done."""
        operations = [each for record in self.records.values() for each in record.operations]
        await self.ctx.progress(stage, sum(each.is_done for each in operations) / len(operations), message)

    async def _save_and_show(self, group: GroupT) -> None:
        await self.save(group.name)
        record = self.records[group.name]
        await self.report(f"{group.name}: {record.state.replace('_', ' ')}", record.error or group.description)
        if record.state is not GroupState.IN_PROGRESS:
            await self._show(group)

    async def _show(self, group: GroupT) -> None:
        shown: GroupSummary = group_summary(group, self.records[group.name])
        await self.ctx.partial(shown.model_dump(mode="json", exclude_none=True))


def _bounded(result: Any, record: GroupRecord) -> Any:
    """Return a result, or its size if the document of the group has no room for it."""
    size, used = len(to_json(result)), sum(len(to_json(each.result)) for each in record.operations)
    return result if size + used <= MAX_RESULTS else {"left_out": f"The result has {size:,} bytes."}


def _is_left(state: GroupState, name: str, running: set[str]) -> bool:
    return state is GroupState.IN_PROGRESS and name not in running
