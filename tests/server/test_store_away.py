"""A store that is away or full: clients are told so in time, and what they were refused is never written (B6, H6)."""

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

SHORT = 0.3
"""Seconds that clients wait for the store in most of these tests."""


@tool
async def send(to: Annotated[str, "Whom"]) -> str:
    """Do something that must not be done twice."""
    ran.append(to)
    return f"sent to {to}"


@tool(mode="background")
async def slow(to: Annotated[str, "Whom"]) -> str:
    """Do something that takes a while."""
    ran.append(to)
    await held.wait()
    return f"sent to {to}"


@tool(idempotent=True)
async def read(of: Annotated[str, "What"]) -> str:
    """Look something up."""
    ran.append(of)
    return f"read {of}"


class Away:
    """A store that can be sent away, and counts what it took."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.fixture
async def served(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[tuple[Served, Away]]:
    global held
    held = asyncio.Event()
    ran.clear()
    monkeypatch.setattr("callboard.server.store_timeout.PATIENCE", SHORT)
    monkeypatch.setattr("callboard.protocols.agui.run.PATIENCE", SHORT)
    runtime = Runtime([*TOOLS, send, slow, read], workers=WORKERS, model="offline", store=sqlite_url)
    away = Away(runtime.store, monkeypatch)
    async with serve(runtime) as served:
        await served.session("s")
        yield served, away


def refused(answer: httpx2.Response, code: str = "store_unavailable") -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, code), answer.text
    assert int(answer.headers["retry-after"]) > 0


async def back(served: Served, away: Away) -> None:
    """The store is there again, and all that was waiting is written."""
    away.gone = False
    await served.runtime.sessions.get("s", "local").settle()


async def stored(served: Served) -> tuple[list[str], list[str]]:
    """The kinds of the events and the tools of the executions in the session."""
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
        ("/api/executions", {"tool": "send", "arguments": {"to": "bob"}, "call_id": "c1"}),
        ("/api/executions", {"tool": "slow", "arguments": {"to": "bob"}}),
        ("/api/executions", {"tool": "read", "arguments": {"of": "bob"}}),
        ("/api/executions", {"tool": "pay", "arguments": {"amount": 5}}),
        ("/api/executions", {"tool": "nosuch", "arguments": {}}),
    ],
)
async def test_b6_what_was_refused_is_not_written_when_the_store_is_back(
    served: tuple[Served, Away], path: str, body: dict[str, Any]
) -> None:
    here, away = served
    before = await stored(here)
    away.gone = True
    async with asyncio.timeout(DEADLINE):
        times = 1 if "call_id" in body else 3  # several callers of one call are one call
        answers = await asyncio.gather(*(here.post(path, {"session_id": "s", **body}) for _ in range(times)))
    for answer in answers:
        refused(answer)
    await back(here, away)
    assert await stored(here) == before
    session = here.runtime.sessions.get("s", "local")
    assert not session.calls.unfinished
    assert not session.is_processing
    assert ran == (["bob"] * len(ran) if "read" in str(body) else [])
    again = await here.post(path, {"session_id": "s", **body})
    assert again.status_code in (200, 202)
    assert await stored(here) != before, "and the retry is taken"


async def test_b6_result_of_a_call_that_was_stored_is_kept_for_the_store(served: tuple[Served, Away]) -> None:
    here, away = served
    started = (await here.post("/api/executions", {"session_id": "s", "tool": "slow", "arguments": {"to": "x"}})).json()
    assert started["status"] == "started"
    await until(lambda: ran == ["x"])
    away.gone = True
    held.set()
    refused(await here.post("/api/chat", {"session_id": "s", "message": "hello"}))
    refused(await here.get("/api/executions", {"session_id": "s"}))
    await back(here, away)
    shown = (await here.get(f"/api/executions/{started['execution_id']}", {"session_id": "s"})).json()
    assert (shown["status"], shown["result"] if "result" in shown else shown["value"]) == ("succeeded", "sent to x")
    kinds, _ = await stored(here)
    assert "user_input" not in kinds


async def test_b6_call_that_runs_when_the_store_goes_is_not_confirmed_and_not_lost(
    served: tuple[Served, Away], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, away = served

    @tool(name="vanish")
    async def vanish() -> str:
        """Send the store away while it runs."""
        away.gone = True
        ran.append("vanished")
        return "gone"

    here.runtime.registry.register(vanish)
    refused(
        await here.post("/api/executions", {"session_id": "s", "tool": "vanish", "call_id": "c1"}), "store_unconfirmed"
    )
    await back(here, away)
    again = await here.post("/api/executions", {"session_id": "s", "tool": "vanish", "call_id": "c1"})
    assert again.json()["value"] == "gone"
    assert ran == ["vanished"], "the same id does not run it twice"


async def test_m3_answer_that_was_refused_leaves_the_request_open(served: tuple[Served, Away]) -> None:
    here, away = served
    await here.post("/api/executions", {"session_id": "s", "tool": "pay", "arguments": {"amount": 5}})
    (request,) = (await here.get("/api/requests", {"session_id": "s"})).json()["requests"]
    path, answer = f"/api/requests/{request['request_id']}/answer", {"session_id": "s", "answer": {"approved": True}}
    away.gone = True
    refused(await here.post(path, answer))
    await back(here, away)
    assert len((await here.get("/api/requests", {"session_id": "s"})).json()["requests"]) == 1
    assert (await here.post(path, answer)).status_code == 202


async def test_b6_session_that_was_refused_is_not_made_and_a_logout_does_not_happen(
    served: tuple[Served, Away],
) -> None:
    here, away = served
    away.gone = True
    refused(await here.post("/api/sessions", {"session_id": "new"}))
    refused(await here.post("/api/sessions/s/logout", {"grace": 0}))
    refused(await here.post("/api/sessions", {"session_id": "s", "namespaces": ["none"]}))
    away.gone = False
    assert (await here.get("/api/sessions/new")).status_code == 404
    shown = (await here.get("/api/sessions/s")).json()
    assert (shown["open"], shown["namespaces"]) == (True, None)


async def test_b6_cancel_is_heeded_here_and_said_not_to_be_confirmed(served: tuple[Served, Away]) -> None:
    here, away = served
    started = (await here.post("/api/executions", {"session_id": "s", "tool": "slow", "arguments": {"to": "x"}})).json()
    away.gone = True
    path = f"/api/executions/{started['execution_id']}/cancel"
    refused(await here.post(path, {"session_id": "s"}), "store_unconfirmed")
    await back(here, away)
    shown = (await here.get(f"/api/executions/{started['execution_id']}", {"session_id": "s"})).json()
    assert shown["status"] == "cancelled"


async def test_b6_turn_waits_for_the_store_and_goes_on(served: tuple[Served, Away]) -> None:
    """What the runtime does itself has no deadline, also where a request began it."""
    here, away = served
    assert (await here.post("/api/chat", {"session_id": "s", "message": 'slow {"to": "x"}'})).status_code == 202
    await until(lambda: ran == ["x"])
    away.gone = True
    refused(await here.post("/api/chat", {"session_id": "s", "message": "refused"}))
    held.set()
    refused(await here.post("/api/chat", {"session_id": "s", "message": "refused"}))
    away.gone = False
    session = here.runtime.sessions.get("s", "local")
    await until(lambda: not session.is_processing and not session.has_pending_work)
    said = [each["text"] for each in await session.conversation().messages() if each["role"] == "user"]
    assert said == ['slow {"to": "x"}']
    assert ran == ["x"]


async def test_b6_ag_ui_says_in_time_that_the_store_is_away(served: tuple[Served, Away]) -> None:
    here, away = served
    message = {"id": "m1", "role": "user", "content": "hello"}
    run = {"threadId": "s", "runId": "r", "messages": [message], "tools": [], "context": [], "state": {}}
    away.gone = True
    answer = await here.post("/ag-ui", {**run, "forwardedProps": {}})
    assert "store_unavailable" in answer.text
    await back(here, away)
    assert "user_input" not in (await stored(here))[0]


async def test_h1_readiness_is_known_although_nothing_is_written(
    served: tuple[Served, Away], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.storage.writer.PROBE", 0.02)
    here, away = served
    assert (await here.get("/readyz")).status_code == 200
    away.gone = True
    writer = here.runtime.sessions.writer
    await here.runtime.sessions.get("s", "local").settle()
    await until(lambda: not writer.available)
    assert (await here.get("/readyz")).status_code == 503
    away.gone = False
    await until(lambda: writer.available)
    assert (await here.get("/readyz")).status_code == 200


async def test_h1_store_that_keeps_a_write_waiting_is_not_ready(
    served: tuple[Served, Away], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.storage.writer.LATE", 0.05)
    here, _ = served
    go, commit = asyncio.Event(), here.runtime.store.commit

    async def stuck(changes: Sequence[Change]) -> list[int | Conflict]:
        await go.wait()
        return await commit(changes)

    monkeypatch.setattr(here.runtime.store, "commit", stuck)
    posting = asyncio.create_task(here.post("/api/chat", {"session_id": "s", "message": "hello"}))
    await until(lambda: not here.runtime.sessions.writer.available)
    assert (await here.get("/readyz")).status_code == 503
    refused(await posting)
    go.set()
    await until(lambda: here.runtime.sessions.writer.available)


# Commits of which it is not known whether they were made


@pytest.fixture
def doubtful(served: tuple[Served, Away], monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], asyncio.Event]:
    """Let the next commit be under way, made or not, until the event is set."""
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
        return go

    return hold


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/chat", {"message": 'send {"to": "bob"}'}),
        ("/api/system/event", {"event": {"kind": "user_request", "request_kind": "echo", "payload": {"payload": "x"}}}),
        ("/api/executions", {"tool": "send", "arguments": {"to": "bob"}}),
    ],
)
async def test_b6_commit_in_doubt_is_not_confirmed_and_what_it_made_is_carried_out_once(
    served: tuple[Served, Away],
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
async def test_m3_answer_in_doubt_is_heeded_if_it_was_stored(
    served: tuple[Served, Away], doubtful: Callable[[bool], asyncio.Event], made: bool
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
