"""An unavailable or full store: clients get an error in time, and refused changes are never written (B6, H6)."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Annotated, Any

import httpx2
import pytest

from callboard import Runtime, tool
from callboard.storage.change import Change
from callboard.storage.committer import ChangeGroup
from callboard.storage.errors import Conflict, StoreUnavailable
from callboard.storage.store import Store
from tests.server.conftest import DEADLINE, TOOLS, WORKERS, Served, serve, until

pytestmark = pytest.mark.anyio

ran: list[str] = []
held: asyncio.Event

SHORT, LONG = 0.3, 60.0
"""Seconds that clients wait for a store that is away, and for one that is only slow."""
UNTIL_COMMIT = 1.5
"""Seconds in which a commit begins, also on a busy machine, and after which a request no longer waits for it."""


@tool
async def send(to: Annotated[str, "The recipient"]) -> str:
    """Send a message. It must not be sent twice."""
    ran.append(to)
    return f"sent to {to}"


@tool(mode="background")
async def slow(to: Annotated[str, "The recipient"]) -> str:
    """Send a message slowly."""
    ran.append(to)
    await held.wait()
    return f"sent to {to}"


@tool(idempotent=True)
async def read(of: Annotated[str, "The name"]) -> str:
    """Read a value."""
    ran.append(of)
    return f"read {of}"


class Outage:
    """Makes a store unavailable on demand, and counts its commits."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.gone = False
        self.taken: list[Change] = []
        commit = store.commit

        async def committed(changes: Sequence[Change]) -> list[int | Conflict]:
            if self.gone:
                raise StoreUnavailable("The disk is away.")
            self.taken += changes
            return await commit(changes)

        async def probed() -> None:
            if self.gone:
                raise StoreUnavailable("The disk is away.")

        monkeypatch.setattr(store, "commit", committed)
        monkeypatch.setattr(store, "probe", probed)

    @property
    def gone(self) -> bool:
        """Whether the store is unavailable. Requests that begin then do not wait long for it."""
        return self._gone

    @gone.setter
    def gone(self, gone: bool) -> None:
        self._gone = gone
        limit_patience(self._patch, SHORT if gone else LONG)


def limit_patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set how long requests wait for the store that begin from now on."""
    monkeypatch.setattr("callboard.server.store_timeout.PATIENCE", seconds)
    monkeypatch.setattr("callboard.protocols.agui.run.PATIENCE", seconds)


@pytest.fixture
async def served(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[tuple[Served, Outage]]:
    global held
    held = asyncio.Event()
    ran.clear()
    runtime = Runtime([*TOOLS, send, slow, read], workers=WORKERS, model="offline", store=sqlite_url)
    outage = Outage(runtime.store, monkeypatch)
    async with serve(runtime) as served:
        await served.session("s")
        yield served, outage


def refused(answer: httpx2.Response, code: str = "store_unavailable") -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, code), answer.text
    assert int(answer.headers["retry-after"]) > 0


async def end_outage(served: Served, outage: Outage) -> None:
    """Make the store available again, and wait until all pending changes are written."""
    outage.gone = False
    await served.runtime.sessions.get("s", "local").settle()


async def stored(served: Served) -> tuple[list[str], list[str]]:
    """Return the kinds of the session's stored events, and the tools of its executions."""
    page = await served.runtime.store.events("s", 0, 1000)
    rows = await served.runtime.store.executions("s")
    return [line.split(b'"')[3].decode() for line in page.lines], [row.tool for row in rows]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/chat", {"message": 'send {"to": "bob"}'}),
        ("/api/system/event", {"event": {"kind": "user_input", "text": "hello"}}),
        ("/api/system/event", {"event": {"kind": "user_request", "request_kind": "echo", "payload": {"payload": "x"}}}),
        ("/api/executions", {"tool": "send", "arguments": {"to": "bob"}}),
        pytest.param(
            "/api/executions",
            {"tool": "send", "arguments": {"to": "bob"}, "call_id": "c1"},
            marks=pytest.mark.slow,
        ),
        ("/api/executions", {"tool": "slow", "arguments": {"to": "bob"}}),
        ("/api/executions", {"tool": "read", "arguments": {"of": "bob"}}),
        ("/api/executions", {"tool": "pay", "arguments": {"amount": 5}}),
        ("/api/executions", {"tool": "nosuch", "arguments": {}}),
    ],
)
async def test_b6_refused_change_is_not_written_after_the_outage(
    served: tuple[Served, Outage], path: str, body: dict[str, Any]
) -> None:
    here, outage = served
    before = await stored(here)
    outage.gone = True
    async with asyncio.timeout(DEADLINE):
        times = 1 if "call_id" in body else 3  # concurrent callers of one call id share the call
        answers = await asyncio.gather(*(here.post(path, {"session_id": "s", **body}) for _ in range(times)))
    for answer in answers:
        refused(answer)
    await end_outage(here, outage)
    assert await stored(here) == before
    session = here.runtime.sessions.get("s", "local")
    assert not session.calls.unfinished
    assert not session.is_processing
    assert ran == (["bob"] * len(ran) if "read" in str(body) else [])
    again = await here.post(path, {"session_id": "s", **body})
    assert again.status_code in (200, 202)
    assert await stored(here) != before, "and the retry is accepted"


async def test_b6_result_of_a_stored_call_is_written_after_the_outage(served: tuple[Served, Outage]) -> None:
    here, outage = served
    started = (await here.post("/api/executions", {"session_id": "s", "tool": "slow", "arguments": {"to": "x"}})).json()
    assert started["status"] == "started"
    await until(lambda: ran == ["x"])
    outage.gone = True
    held.set()
    refused(await here.post("/api/chat", {"session_id": "s", "message": "hello"}))
    refused(await here.get("/api/executions", {"session_id": "s"}))
    await end_outage(here, outage)
    shown = (await here.get(f"/api/executions/{started['execution_id']}", {"session_id": "s"})).json()
    assert (shown["status"], shown["result"] if "result" in shown else shown["value"]) == ("succeeded", "sent to x")
    kinds, _ = await stored(here)
    assert "user_input" not in kinds


async def test_b6_call_that_runs_at_the_start_of_an_outage_is_unconfirmed_and_not_lost(
    served: tuple[Served, Outage], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, outage = served

    @tool(name="vanish")
    async def vanish() -> str:
        """Make the store unavailable while the call runs."""
        outage.gone = True
        ran.append("vanished")
        return "gone"

    here.runtime.registry.register(vanish)
    limit_patience(monkeypatch, SHORT)
    refused(
        await here.post("/api/executions", {"session_id": "s", "tool": "vanish", "call_id": "c1"}), "store_unconfirmed"
    )
    await end_outage(here, outage)
    again = await here.post("/api/executions", {"session_id": "s", "tool": "vanish", "call_id": "c1"})
    assert again.json()["value"] == "gone"
    assert ran == ["vanished"], "the call does not run twice under one id"


async def test_m3_refused_answer_leaves_the_request_open(served: tuple[Served, Outage]) -> None:
    here, outage = served
    await here.post("/api/executions", {"session_id": "s", "tool": "pay", "arguments": {"amount": 5}})
    (request,) = (await here.get("/api/requests", {"session_id": "s"})).json()["requests"]
    path, answer = f"/api/requests/{request['request_id']}/answer", {"session_id": "s", "answer": {"approved": True}}
    outage.gone = True
    refused(await here.post(path, answer))
    await end_outage(here, outage)
    assert len((await here.get("/api/requests", {"session_id": "s"})).json()["requests"]) == 1
    assert (await here.post(path, answer)).status_code == 202


async def test_b6_refused_session_is_not_created_and_a_refused_logout_has_no_effect(
    served: tuple[Served, Outage],
) -> None:
    here, outage = served
    outage.gone = True
    refused(await here.post("/api/sessions", {"session_id": "new"}))
    refused(await here.post("/api/sessions/s/logout", {"grace": 0}))
    refused(await here.post("/api/sessions", {"session_id": "s", "namespaces": ["none"]}))
    outage.gone = False
    assert (await here.get("/api/sessions/new")).status_code == 404
    shown = (await here.get("/api/sessions/s")).json()
    assert (shown["open"], shown["namespaces"]) == (True, None)


async def test_b6_cancel_during_an_outage_is_effective_and_unconfirmed(served: tuple[Served, Outage]) -> None:
    here, outage = served
    started = (await here.post("/api/executions", {"session_id": "s", "tool": "slow", "arguments": {"to": "x"}})).json()
    outage.gone = True
    path = f"/api/executions/{started['execution_id']}/cancel"
    refused(await here.post(path, {"session_id": "s"}), "store_unconfirmed")
    await end_outage(here, outage)
    shown = (await here.get(f"/api/executions/{started['execution_id']}", {"session_id": "s"})).json()
    assert shown["status"] == "cancelled"


async def test_b6_turn_waits_for_the_store_and_continues(served: tuple[Served, Outage]) -> None:
    """The runtime's own work has no deadline, also if a request has started it."""
    here, outage = served
    assert (await here.post("/api/chat", {"session_id": "s", "message": 'slow {"to": "x"}'})).status_code == 202
    await until(lambda: ran == ["x"])
    outage.gone = True
    refused(await here.post("/api/chat", {"session_id": "s", "message": "refused"}))
    held.set()
    refused(await here.post("/api/chat", {"session_id": "s", "message": "refused"}))
    outage.gone = False
    session = here.runtime.sessions.get("s", "local")
    await until(lambda: not session.is_processing and not session.has_pending_work)
    said = [each["text"] for each in await session.conversation().messages() if each["role"] == "user"]
    assert said == ['slow {"to": "x"}']
    assert ran == ["x"]


async def test_b6_ag_ui_reports_an_outage_in_time(served: tuple[Served, Outage]) -> None:
    here, outage = served
    message = {"id": "m1", "role": "user", "content": "hello"}
    run = {"threadId": "s", "runId": "r", "messages": [message], "tools": [], "context": [], "state": {}}
    outage.gone = True
    answer = await here.post("/ag-ui", {**run, "forwardedProps": {}})
    assert "store_unavailable" in answer.text
    await end_outage(here, outage)
    assert "user_input" not in (await stored(here))[0]


async def test_h1_readiness_does_not_depend_on_writes(
    served: tuple[Served, Outage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.storage.writer.PROBE", 0.02)
    here, outage = served
    assert (await here.get("/readyz")).status_code == 200
    outage.gone = True
    writer = here.runtime.sessions.writer
    await here.runtime.sessions.get("s", "local").settle()
    await until(lambda: not writer.available)
    assert (await here.get("/readyz")).status_code == 503
    outage.gone = False
    await until(lambda: writer.available)
    assert (await here.get("/readyz")).status_code == 200


async def test_h1_server_with_a_stuck_write_is_not_ready(
    served: tuple[Served, Outage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.storage.writer.LATE", 0.05)
    here, _ = served
    go, commit = asyncio.Event(), here.runtime.store.commit

    async def stuck(changes: Sequence[Change]) -> list[int | Conflict]:
        await go.wait()
        return await commit(changes)

    monkeypatch.setattr(here.runtime.store, "commit", stuck)
    limit_patience(monkeypatch, SHORT)
    posting = asyncio.create_task(here.post("/api/chat", {"session_id": "s", "message": "hello"}))
    await until(lambda: not here.runtime.sessions.writer.available)
    assert (await here.get("/readyz")).status_code == 503
    refused(await posting)
    go.set()
    await until(lambda: here.runtime.sessions.writer.available)


# Commits with an unknown outcome


@pytest.fixture
def doubtful(served: tuple[Served, Outage], monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], asyncio.Event]:
    """Return a function that blocks the next commit, written or not, until its event is set."""
    here, _ = served

    def hold(made: bool) -> asyncio.Event:
        go, commit, results = asyncio.Event(), here.runtime.store.commit, list[list[int | Conflict]]()

        async def committed(changes: Sequence[Change]) -> list[int | Conflict]:
            monkeypatch.setattr(here.runtime.store, "commit", again)
            assert isinstance(changes, ChangeGroup)
            if made:
                results.append(await commit(changes))
            else:
                changes.seal()
            await go.wait()
            raise StoreUnavailable("The connection broke.")

        async def again(changes: Sequence[Change]) -> list[int | Conflict]:
            monkeypatch.setattr(here.runtime.store, "commit", commit)
            assert isinstance(changes, ChangeGroup)
            if not made:
                changes.unseal()
            return results[0] if made else await commit(changes)

        monkeypatch.setattr(here.runtime.store, "commit", committed)
        limit_patience(monkeypatch, UNTIL_COMMIT)
        return go

    return hold


@pytest.mark.parametrize("made", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/chat", {"message": 'send {"to": "bob"}'}),
        ("/api/system/event", {"event": {"kind": "user_request", "request_kind": "echo", "payload": {"payload": "x"}}}),
        ("/api/executions", {"tool": "send", "arguments": {"to": "bob"}}),
    ],
)
async def test_b6_commit_with_an_unknown_outcome_is_unconfirmed_and_takes_effect_at_most_once(
    served: tuple[Served, Outage],
    doubtful: Callable[[bool], asyncio.Event],
    made: bool,
    path: str,
    body: dict[str, Any],
) -> None:
    here, _ = served
    go = doubtful(made)
    refused(await here.post(path, {"session_id": "s", **body}), "store_unconfirmed")
    go.set()
    session = here.runtime.sessions.get("s", "local")
    await session.settle()
    if made:
        end = "user_response" if "event" in body else "tool_result"

        async def ended() -> bool:
            return end in (await stored(here))[0]

        async with asyncio.timeout(DEADLINE):
            while not await ended():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    await until(lambda: not session.is_processing and not session.calls.unfinished)
    await session.settle()
    kinds, tools = await stored(here)
    assert ran == (["bob"] if made and "event" not in body else [])
    assert bool(kinds or tools) is made


@pytest.mark.parametrize("made", [True, False])
async def test_m3_unconfirmed_answer_is_used_if_it_was_stored(
    served: tuple[Served, Outage], doubtful: Callable[[bool], asyncio.Event], made: bool
) -> None:
    here, _ = served
    asked = (await here.post("/api/executions", {"session_id": "s", "tool": "pay", "arguments": {"amount": 5}})).json()
    (request,) = (await here.get("/api/requests", {"session_id": "s"})).json()["requests"]
    go = doubtful(made)
    answer = {"session_id": "s", "answer": {"approved": True}}
    refused(await here.post(f"/api/requests/{request['request_id']}/answer", answer), "store_unconfirmed")
    go.set()
    session = here.runtime.sessions.get("s", "local")
    await session.settle()
    if made:
        assert (await session.calls.result(asked["execution_id"], timeout=DEADLINE)).value == "paid 5"
    else:
        assert [each.id for each in await session.requests()] == [request["request_id"]]
