"""A call that cannot be stored fails and says so, whatever the reason, and other calls go on."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Annotated

import pytest

from callboard import Runtime, Session, ToolContext, ToolError, tool
from callboard.adapters.stores.staging import StagedGroup
from callboard.errors import ErrorCategory
from callboard.execution.outcome import Outcome, OutcomeStatus
from callboard.storage.change import Change
from callboard.storage.errors import Conflict

from .conftest import board_of, ended

pytestmark = pytest.mark.anyio

BAD = "data that no database takes"
runs: Counter[str] = Counter()

Text = Annotated[str, "Any"]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    runs.clear()


@tool(idempotent=True)
async def halve(n: Annotated[int, "Any"]) -> int:
    """Return half of the number."""
    return n // 2


@tool
async def echo(text: Text) -> str:
    """Return the text."""
    runs[text] += 1
    return text


@tool(idempotent=True)
async def echo_again(text: Text) -> str:
    """Return the text."""
    runs[text] += 1
    return text


@tool(mode="background", idempotent=True)
async def echo_late(text: Text) -> str:
    """Return the text."""
    runs[text] += 1
    return text


@tool(mode="background", idempotent=True)
async def stream(ctx: ToolContext, text: Text) -> str:
    """Report a part, and wait for ever."""
    runs["stream"] += 1
    await ctx.partial(text)
    try:
        await asyncio.Event().wait()
    finally:
        runs["stopped"] += 1
    return text


@tool
async def ask_echo(ctx: ToolContext, text: Text, key: Annotated[str | None, "Any"] = None) -> str:
    """Call another tool, with or without a key."""
    try:
        return str(await ctx.call("echo", {"text": text}, key=key))
    except ToolError as error:
        return f"{error.category}: {error.message}"


TOOLS = (halve, echo, echo_again, echo_late, stream, ask_echo)
RESULT = "The tool ran, and what it did stands, but its result cannot be stored."
CALL = "The call could not be stored. It may have taken effect"


def refuse(monkeypatch: pytest.MonkeyPatch, is_refused: Callable[[Change], bool]) -> None:
    """Let the store fail with some changes."""
    stage = StagedGroup.stage

    def fail(group: StagedGroup, change: Change) -> int | Conflict:
        if is_refused(change):
            raise TypeError("a bug")
        return stage(group, change)

    monkeypatch.setattr(StagedGroup, "stage", fail)


def refuse_status(monkeypatch: pytest.MonkeyPatch, *statuses: str) -> None:
    """Let the store fail with every change that has an execution in one of these statuses."""
    refuse(monkeypatch, lambda change: any(write.row.status in statuses for write in change.executions))


def refuse_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the store fail with every change whose results or parts have the text that no database takes."""

    def has_data(change: Change) -> bool:
        results = [write.row.value or b"" for write in change.executions]
        parts = [event for event in change.events if b'"tool_started"' not in event]
        return any(BAD.encode() in each for each in (*results, *parts))

    refuse(monkeypatch, has_data)


def failure(outcome: Outcome, tool: str) -> tuple[ErrorCategory, str]:
    assert (outcome.status, outcome.tool) == (OutcomeStatus.FAILED, tool)
    assert outcome.error is not None
    return outcome.error.category, outcome.error.message


async def ends(session: Session, execution_id: str | None) -> list[tuple[str, str]]:
    """Return the kinds of the events of a call, with the status of each terminal one."""
    events = [event for event in await board_of(session) if event.data.get("execution_id") == execution_id]
    return [(event.kind, event.data.get("status", "")) for event in events]


OPENING = [("tool_started", ""), ("tool_validating", ""), ("tool_executing", "")]


@pytest.mark.parametrize("name", ["echo", "echo_again"])
async def test_d1_call_whose_result_cannot_be_stored_fails_and_is_stored_as_failed(
    shared_url: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    refuse_data(monkeypatch)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome, *others = await asyncio.gather(
            session.call(name, {"text": BAD}, call_id="c"), *(session.call("halve", {"n": 4}) for _ in range(3))
        )
        assert [other.value for other in others] == [2, 2, 2], "other calls go on"
        category, message = failure(outcome, name)
        assert category is ErrorCategory.UNKNOWN
        assert message.startswith(RESULT)
        assert await ends(session, outcome.execution_id) == [*OPENING, ("tool_result", "failed")]
        assert failure(await session.call(name, {"text": BAD}, call_id="c"), name) == (category, message)
        assert failure(await ended(session, str(outcome.execution_id)), name) == (category, message)
        assert not session.has_pending_work
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert failure(await session.call(name, {"text": BAD}, call_id="c"), name) == (category, message)
        assert [record.tool for record in await session.history() if record.status == "failed"] == [name]
    assert runs == {BAD: 1}


async def test_d1_late_result_that_cannot_be_stored_comes_as_a_failure(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_data(monkeypatch)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("echo_late", {"text": BAD})
        assert failure(await ended(session, outcome.execution_id), "echo_late")[1].startswith(RESULT)
        assert not await session.cancel(outcome.execution_id)
        assert [failure(each, "echo_late")[1][: len(RESULT)] for each in await session.take_results()] == [RESULT]
        assert await ends(session, outcome.execution_id) == [*OPENING, ("tool_result", "failed")]
        assert not session.has_pending_work


async def test_d1_call_whose_parts_cannot_be_stored_is_stopped_and_fails(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_data(monkeypatch)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("stream", {"text": BAD})
        assert failure(await ended(session, outcome.execution_id), "stream")[1].startswith(CALL)
        assert [each.execution_id for each in await session.take_results()] == [outcome.execution_id]
        assert await ends(session, outcome.execution_id) == [*OPENING, ("tool_result", "failed")]
        assert runs == {"stream": 1, "stopped": 1}
        assert runtime.manager.live == ()
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert [record.status for record in await session.history()] == ["failed"]


async def test_d1_handler_gets_the_failure_of_a_call_with_a_key_whose_result_cannot_be_stored(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, lambda change: any(w.row.tool == "echo" and w.row.value for w in change.executions))
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        keyed = await session.call("ask_echo", {"text": "a", "key": "k"})
        assert keyed.value.startswith(f"unknown: {RESULT}")
        plain = await session.call("ask_echo", {"text": "b"})
        assert plain.value == "b", "without a key it does not wait for the store"
        records = {record.id: record.status for record in await session.history() if record.tool == "echo"}
        assert [*records.values()] == ["failed", "failed"]
        for execution_id in records:
            assert (await ends(session, execution_id))[-1] == ("tool_result", "failed")


async def test_d1_call_that_cannot_be_stored_at_all_fails(shared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Runtime([halve], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        with monkeypatch.context() as patch:
            refuse_status(patch, "succeeded", "failed")
            category, message = failure(await session.call("halve", {"n": 4}), "halve")
        assert category is ErrorCategory.UNKNOWN
        assert message.startswith(CALL)
        assert (await session.call("halve", {"n": 4})).value == 2, "other calls go on"


async def test_d1_call_whose_beginning_cannot_be_stored_is_not_carried_out(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_status(monkeypatch, "executing")
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
