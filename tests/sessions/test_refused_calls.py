"""A call that cannot be stored fails and says so, whatever the reason, and other calls go on."""

from typing import Annotated

import pytest

from callboard import Runtime, tool
from callboard.adapters.stores.staging import StagedGroup
from callboard.errors import ErrorCategory
from callboard.execution.outcome import Outcome, OutcomeStatus
from callboard.storage.change import Change
from callboard.storage.errors import Conflict

pytestmark = pytest.mark.anyio


@tool(idempotent=True)
async def halve(n: Annotated[int, "Any"]) -> int:
    """Return half of the number."""
    return n // 2


def refuse(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    """Let the store fail with every change that has an execution in a status."""
    stage = StagedGroup.stage

    def fail(group: StagedGroup, change: Change) -> int | Conflict:
        if any(write.row.status == status for write in change.executions):
            raise TypeError("a bug")
        return stage(group, change)

    monkeypatch.setattr(StagedGroup, "stage", fail)


def failure(outcome: Outcome, tool: str) -> tuple[ErrorCategory, str]:
    assert (outcome.status, outcome.tool) == (OutcomeStatus.FAILED, tool)
    assert outcome.error is not None
    return outcome.error.category, outcome.error.message


async def test_d1_call_that_cannot_be_stored_fails(shared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Runtime([halve], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        with monkeypatch.context() as patch:
            refuse(patch, "succeeded")
            category, message = failure(await session.call("halve", {"n": 4}), "halve")
        assert category is ErrorCategory.UNKNOWN
        assert message.startswith("The call could not be stored. It may have taken effect")
        assert (await session.call("halve", {"n": 4})).value == 2, "other calls go on"


async def test_d1_call_whose_beginning_cannot_be_stored_is_not_carried_out(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "executing")
    entered = False

    @tool
    async def enter() -> None:
        """Note that it was entered."""
        nonlocal entered
        entered = True

    async with Runtime([enter], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        category, message = failure(await session.call("enter"), "enter")
        assert category is ErrorCategory.UNKNOWN
        assert message.startswith("The call could not be stored.")
        assert not entered


async def test_d1_call_of_a_session_that_another_process_deleted_fails(shared_url: str) -> None:
    async with Runtime([halve], store=shared_url) as here, Runtime(store=shared_url, recover=False) as there:
        session = await here.open("s", "ann")
        assert await there.store.delete("s")
        outcome = await session.call("halve", {"n": 4})
        assert failure(outcome, "halve") == (ErrorCategory.NOT_FOUND, "The session was deleted.")
