"""Questions and tasks of MCP servers: of the SDK's server, and of Callboard's own, in both eras."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callboard import AnswerInvalid, Runtime, Session, mcp_toolset, tool
from callboard.toolkits.mcp import unanswered as unanswered_module
from callboard.toolkits.mcp.calls import MAX_ROUNDS
from callboard.toolkits.mcp.unanswered import Unanswered, sending_for
from tests.server.conftest import serve
from tests.server.mcp.stage import ERAS, Gates
from tests.server.mcp.stage import stage as serve_callboard
from tests.toolkits.mcp.stage import DEADLINE, Stage, both_eras, every_kind, hostile, stage, until

pytestmark = pytest.mark.anyio
own_eras = pytest.mark.parametrize("era", ERAS)


async def open_request(session: Session) -> Any:
    """Wait for a request to a person."""
    async with asyncio.timeout(DEADLINE):
        while not (found := await session.requests()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found[0]


@asynccontextmanager
async def beside(call: Any) -> AsyncGenerator[asyncio.Future[Any]]:
    """Carry out a call beside the test."""
    task = asyncio.ensure_future(call)
    try:
        yield task
    finally:
        task.cancel()


@both_eras
async def test_h4_a_question_of_a_server_is_a_request_to_a_person(kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path) as made, beside(made.call("ask", how="Who are you?")) as call:
        request = await open_request(made.session)
        assert request.payload["message"] == "Who are you?"
        assert request.payload["server"] == "sample"
        assert request.answer_schema["required"] == ["name"]
        with pytest.raises(AnswerInvalid):
            await made.session.answer(request.id, {"name": 5})
        with pytest.raises(AnswerInvalid):
            await made.session.answer(request.id, {"name": "A", "more": True})
        await made.session.answer(request.id, {"name": "Ann"})
        assert (await call).value == "accept {'name': 'Ann'}"


@every_kind
async def test_h4_a_question_that_is_not_answered_is_refused(kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path) as made, beside(made.call("ask", how="Who are you?")) as call:
        request = await open_request(made.session)
        await made.session.cancel(request.execution_id)
        assert (await call).value == "cancel None"


@every_kind
@pytest.mark.parametrize(("opened", "action"), [(True, "accept"), (False, "decline")])
async def test_h4_a_page_that_a_server_wants_opened(opened: bool, action: str, kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path) as made, beside(made.call("ask", how="url")) as call:
        request = await open_request(made.session)
        assert request.payload["url"] == "https://a.example/"
        await made.session.answer(request.id, {"opened": opened})
        assert (await call).value == f"{action} None"


async def test_h4_a_server_that_asks_without_an_end_is_stopped(tmp_path: Path) -> None:
    async with stage("http 2026-07-28", tmp_path) as made, beside(made.call("ask", how="forever")) as call:
        for _ in range(MAX_ROUNDS):
            await made.session.answer((await open_request(made.session)).id, {"name": "Ann"})
        assert f"more than {MAX_ROUNDS} times" in (await call).error.message


async def test_h4_a_question_is_not_asked_if_it_may_be_of_another_session(tmp_path: Path) -> None:
    async with stage("http legacy", tmp_path) as made:
        other = await made.runtime.open("other", "bob")
        async with beside(other.call("sample_hang", {})):
            assert (await made.call("ask", how="Who are you?")).value == "cancel None"
            assert not await other.requests()


async def cancel_late(made: Stage) -> None:
    """Cancel a call of Ann that the server goes on with. It asks during the next calls."""
    async with beside(made.session.call("sample_make_payment", {}, call_id="c1")):
        await until((made.state / "holds").exists)
        assert await made.session.cancel_call("c1")
    (made.state / "asks").touch()


async def test_h4_a_question_of_a_cancelled_call_is_asked_of_no_other_user(tmp_path: Path) -> None:
    async with hostile("ask late", tmp_path) as made:
        await cancel_late(made)
        other = await made.runtime.open("other", "bob")
        assert (await other.call("sample_make_payment", {})).value == "cancel"
        assert not await other.requests()
        async with beside(other.call("sample_make_payment", {})) as call:  # the server has responded to the first call
            await other.answer((await open_request(other)).id, {})
            assert (await call).value == "accept"


async def test_h4_a_server_that_never_responds_to_a_cancelled_call_is_connected_again(tmp_path: Path) -> None:
    async with hostile("ask late", tmp_path) as made:
        (tmp_path / "never").touch()
        await cancel_late(made)
        other = await made.runtime.open("other", "bob")
        assert (await other.call("sample_make_payment", {})).value == "cancel"
        async with beside(other.call("sample_make_payment", {})) as call:
            await other.answer((await open_request(other)).id, {})
            assert (await call).value == "accept"


async def test_h4_a_question_of_a_cancelled_call_may_be_asked_of_its_user(tmp_path: Path) -> None:
    async with hostile("ask late", tmp_path) as made:
        await cancel_late(made)
        another = await made.runtime.open("another", "ann")
        async with beside(another.call("sample_make_payment", {})) as call:
            await another.answer((await open_request(another)).id, {})
            assert (await call).value == "accept"


async def test_h4_a_new_connection_has_no_calls_of_other_users(tmp_path: Path) -> None:
    async with hostile("ask late", tmp_path) as made:
        await cancel_late(made)
        (tmp_path / "dies").touch()
        other = await made.runtime.open("other", "bob")
        assert (await other.call("sample_make_payment", {})).error is not None
        async with beside(other.call("sample_make_payment", {})) as call:
            await other.answer((await open_request(other)).id, {})
            assert (await call).value == "accept"


def test_h4_calls_without_a_response_are_counted_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered_module, "MAX_UNANSWERED", 2)
    calls = Unanswered()
    for user, request_id in (("ann", 1), ("bob", 2), ("ann", 3), ("ann", 4)):
        with sending_for(user):
            calls.sent(request_id)
    calls.sent(5)  # of the connection itself
    assert not calls.is_only("ann")
    calls.answered("2")  # some servers write numbers as text
    assert not calls.is_only("ann")
    calls.settle()
    assert calls.is_only("ann")
    calls.answered(1)
    calls.settle()
    assert not calls.is_only("bob")  # some calls of Ann were too many to tell apart


async def test_h4_a_call_waits_for_approval(tmp_path: Path) -> None:
    async with stage("http legacy", tmp_path, approval=["add"]) as made:
        assert made.runtime.registry["sample_fail"].mode == "inline"
        async with beside(made.call("add", a=1, b=2)) as call:
            request = await open_request(made.session)
            assert made.count("add") == 0
            await made.session.answer(request.id, {"approved": True})
            assert (await call).value == {"sum": 3}


# Callboard's own server


@asynccontextmanager
async def gateway(gates: Gates, era: str) -> AsyncGenerator[tuple[Session, Runtime]]:
    """A Callboard server, and a session of another runtime that uses its tools."""
    async with serve_callboard(gates) as served:
        toolset = mcp_toolset(f"{served.url}/mcp", namespace="far", headers={"x-user": "ann"}, mode=era)
        async with asyncio.timeout(DEADLINE), Runtime([toolset]) as runtime:
            yield await runtime.open("desk", "ann"), served.runtime


@own_eras
async def test_h4_tools_of_a_callboard_server_can_be_used(era: str) -> None:
    async with gateway(Gates(), era) as (session, _):
        assert (await session.call("far_add", {"a": 1, "b": 2})).value == {"result": 3}
        assert (await session.call("far_place", {"name": "Rome"})).value == {"name": "Rome"}
        outcome = await session.call("far_broken", {"how": "known"})
        assert outcome.error is not None
        assert "The shop is closed." in outcome.error.message


@own_eras
async def test_h4_a_question_passes_through_a_gateway(era: str) -> None:
    async with gateway(Gates(), era) as (session, _), beside(session.call("far_paint", {"rooms": ["hall"]})) as call:
        request = await open_request(session)
        assert request.payload["message"] == "Colour of the hall?"
        await session.answer(request.id, {"colour": "green"})
        outcome = await session.result((await call).execution_id)
        assert outcome.value == {"result": "hall: green"} or outcome.value == "hall: green"


async def test_h4_a_task_of_a_server_is_awaited() -> None:
    gates = Gates()
    async with (
        gateway(gates, "2026-07-28") as (session, _),
        beside(session.call("far_build", {"what": "shed"})) as call,
    ):
        gates["shed"].set()
        outcome = await session.result((await call).execution_id)
        assert outcome.value == {"name": "shed"}


async def test_h4_cancelling_a_call_cancels_its_task() -> None:
    polled, stopped = asyncio.Event(), asyncio.Event()

    @tool(mode="background")
    async def endless() -> str:
        """Run until it is cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    async def sleep(_: float) -> None:
        polled.set()
        await asyncio.sleep(0)

    async with serve(Runtime([endless])) as served:
        toolset = mcp_toolset(f"{served.url}/mcp", namespace="far", mode="2026-07-28", sleep=sleep)
        async with asyncio.timeout(DEADLINE), Runtime([toolset]) as runtime:
            session = await runtime.open("desk", "ann")
            async with beside(session.call("far_endless", {}, call_id="c1")):
                await polled.wait()
                assert await session.cancel_call("c1")
                await stopped.wait()


async def test_h4_a_question_of_a_task_is_answered() -> None:
    async with gateway(Gates(), "2026-07-28") as (session, _), beside(session.call("far_pay", {"amount": 3})) as call:
        request = await open_request(session)
        assert "Allow this call?" in request.payload["message"]
        await session.answer(request.id, {"approved": True})
        outcome = await session.result((await call).execution_id)
        assert outcome.value in ("paid 3", {"result": "paid 3"})
