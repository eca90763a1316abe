"""Sessions are created, found and refused on every store, by several runtimes, with all sorts of ids (E1, E2, E7)."""

import asyncio
import json
import sqlite3
import unicodedata
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from callboard import Runtime, ToolContext, ToolError, tool
from callboard.execution.outcome import OutcomeStatus
from callboard.sessions.ids import SessionIdInvalid, SessionNotFound
from callboard.sessions.live_session import LiveSession
from callboard.sessions.session import live_session
from callboard.storage.errors import StoreError
from callboard.storage.rows import SessionRow
from callboard.testing import ManualClock

from .conftest import SOON, Make, board_of, ended, stored, until

pytestmark = pytest.mark.anyio


@tool(namespace="time")
async def now(ctx: ToolContext) -> list[str | None]:
    """Return the user id of the caller."""
    return [ctx.session_id, ctx.user_id]


@tool(namespace="files", mode="background", logout="keep_running")
async def hang() -> None:
    """Hang."""
    await asyncio.Event().wait()


TOOLS = (now, hang)


# Who it belongs to


async def test_e2_session_is_created_once_and_found_again(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        first = await runtime.open("s", "ann", namespaces=["time"], channel="voice")
        assert await runtime.open("s", "ann") is first
        assert [each.name for each in first.tools()] == ["now"]
        assert await runtime.open("s", "ann", namespaces=["files"]) is first
        assert [each.name for each in first.tools()] == ["hang"], "new options apply from then on"
        assert live_session(first).toolbox.view.channel == "voice"
        assert (await first.call("now")).status == "failed"


async def test_e2_concurrent_opens_return_the_same_session(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        sessions = await asyncio.gather(*(runtime.open("s", "ann") for _ in range(10)))
        assert {id(session) for session in sessions} == {id(sessions[0])}
        refused = await asyncio.gather(*(runtime.open("s", "bob") for _ in range(3)), return_exceptions=True)
        assert [type(error) for error in refused] == [SessionNotFound] * 3


async def test_e2_session_of_another_user_is_not_found_after_a_restart(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        await runtime.open("s", "ann", namespaces=["time"])
    async with Runtime(TOOLS, store=shared_url) as runtime:
        with pytest.raises(SessionNotFound) as refused:
            await runtime.open("s", "bob")
        assert str(refused.value) == "There is no session 's'."
        with pytest.raises(SessionNotFound):
            runtime.sessions.get("s", "bob")
        session = await runtime.open("s", "ann")
        assert [each.name for each in session.tools()] == ["now"], "its view is kept"
        assert (await session.call("now")).value == ["s", "ann"]


async def test_e2_session_of_another_user_is_not_found_in_another_runtime(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        await one.open("s", "ann")
        with pytest.raises(SessionNotFound):
            await two.open("s", "bob")
        assert (await two.open("s", "ann")).user_id == "ann"


async def test_e2_session_created_in_two_runtimes_at_once_belongs_to_one_user(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        for number in range(5):
            name = f"s{number}"
            found = await asyncio.gather(one.open(name, "ann"), two.open(name, "bob"), return_exceptions=True)
            (winner,) = [each for each in found if not isinstance(each, BaseException)]
            (loser,) = [each for each in found if isinstance(each, BaseException)]
            assert isinstance(loser, SessionNotFound)
            assert (await winner.call("now")).value == [name, winner.user_id]


async def test_e2_same_user_in_two_runtimes_at_once_has_one_session(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        first, second = await asyncio.gather(one.open("s", "ann"), two.open("s", "ann"))
        await first.notice("one")
        await second.notice("two")
        texts = [[event.data["message"] for event in await board_of(session)] for session in (first, second)]
        assert texts == [["one", "two"]] * 2


async def _seen(runtime: Runtime, wanted: Callable[[LiveSession], bool]) -> LiveSession:
    """Return a session of a runtime once it has applied a change of another runtime."""
    async with asyncio.timeout(SOON):
        while (session := await runtime.sessions.find_or_load("s")) is None or not wanted(session):  # noqa: ASYNC110
            await asyncio.sleep(0)
    return session


@pytest.mark.parametrize("behind", [0.0, 2.0, 86_400.0])
async def test_g6_options_of_a_session_hold_in_every_process_with_any_clock(shared_url: str, behind: float) -> None:
    fast, slow = ManualClock(), ManualClock(ManualClock().time() - behind)
    async with (
        Runtime(TOOLS, store=shared_url, clock=fast) as here,
        Runtime(TOOLS, store=shared_url, clock=slow) as there,
    ):
        await here.open("s", "ann")
        for namespace, one, other in (("time", there, here), ("files", here, there), ("time", there, here)):
            await one.open("s", "ann", namespaces=[namespace])
            session = await _seen(
                other, lambda found, only=namespace: found.toolbox.view.namespaces == frozenset([only])
            )
            assert {tool.namespace for tool in session.tools()} == {namespace}
        await (await there.open("s", "ann")).close()
        await _seen(here, lambda found: not found.open)
        await here.open("s", "ann")
        await _seen(there, lambda found: found.open)


async def test_g6_session_that_a_program_holds_loses_the_tools_that_another_process_took_away(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as here, Runtime(TOOLS, store=shared_url) as there:
        held = await here.open("s", "ann")
        assert (await held.call("now")).status is OutcomeStatus.SUCCEEDED
        narrowed = await there.open("s", "ann", namespaces=["files"])
        await until(lambda: not live_session(held).is_current)  # the store has notified the process
        refused = await held.call("now")
        assert (str(refused.error), [each.namespace for each in held.tools()]) == ("There is no tool 'now'.", ["files"])
        await narrowed.close()
        await until(lambda: not live_session(held).is_current)
        await held.call("now")
        assert not held.is_open


async def test_e2_session_that_a_program_holds_runs_nothing_after_another_process_deleted_it(shared_url: str) -> None:
    ran: list[int] = []

    @tool(idempotent=True)
    async def count() -> None:
        """Count."""
        ran.append(1)

    async with Runtime([count], store=shared_url) as runtime:
        held = await runtime.open("s", "ann")
        async with stored(shared_url) as store:
            await store.delete("s", live_session(held).created_at)
        runtime.sessions.notified("s")
        outcome = await held.call("count", call_id="c")
        assert (str(outcome.error), outcome.call_id, ran) == ("The session was deleted.", "c", [])
        with pytest.raises(SessionNotFound):
            await held.post({"kind": "user_input", "text": "Hello"})
        assert (await (await runtime.open("s", "ben")).call("count")).status is OutcomeStatus.SUCCEEDED
        assert (await held.call("count")).error is not None, "the id belongs to another user now"
        assert ran == [1]


async def test_g6_delayed_read_of_a_session_does_not_undo_newer_options(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(TOOLS, store=shared_url) as here, Runtime(TOOLS, store=shared_url) as there:
        mine = await here.open("s", "ann")
        await there.open("s", "ann", channel="voice")
        here.sessions.notified("s")
        has_read, goes_on, read = asyncio.Event(), asyncio.Event(), here.store.session

        async def late(session_id: str) -> SessionRow | None:
            row = await read(session_id)
            has_read.set()
            await goes_on.wait()
            return row

        monkeypatch.setattr(here.store, "session", late)
        reading = asyncio.ensure_future(here.sessions.find_or_load("s"))
        await has_read.wait()
        monkeypatch.setattr(here.store, "session", read)
        await here.open("s", "ann", namespaces=["time"])
        goes_on.set()
        assert await reading is live_session(mine)
        assert [each.name for each in mine.tools()] == ["now"]


async def test_e2_sessions_are_isolated(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        one, two = await runtime.open("one", "ann", namespaces=["files"]), await runtime.open("two", "ann")
        other = await runtime.open("other", "bob")
        first, second = await one.call("hang", call_id="c"), await two.call("hang", call_id="c")
        assert first.execution_id != second.execution_id
        assert (await one.call("now")).error is not None, "the other's namespaces are not its own"
        assert [event.seq for event in await board_of(other)] == []
        assert {event.data["execution_id"] for event in await board_of(two)} == {second.execution_id}
        for foreign in (two, other):
            for ask in (foreign.result, foreign.cancel):
                with pytest.raises(ToolError, match="There is no execution"):
                    await ask(first.execution_id)
            assert await foreign.cancel_call("unknown") is False
        assert await two.cancel_all() == 1
        assert (await ended(two, second.execution_id)).status == "cancelled"
        assert (await one.result(first.execution_id, timeout=0)).status == "started"
        await two.close()
        assert one.has_pending_work
        assert await one.cancel_call("c") is True
        assert (await ended(one, first.execution_id)).status == "cancelled"


async def test_e2_session_can_be_opened_after_a_cancelled_open(make: Make) -> None:
    """A caller may be cancelled at any moment: the next caller finds a stored session."""
    async with make(*TOOLS) as runtime:
        for turns in range(6):
            opening = asyncio.ensure_future(runtime.open(f"s{turns}", "ann"))
            for _ in range(turns):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.wait([opening])
            session = await runtime.open(f"s{turns}", "ann")
            assert (await session.call("now")).value == [session.id, "ann"]
            assert await session.notice("there") == len(await board_of(session))


async def test_e2_session_that_could_not_be_stored_does_not_exist(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        with monkeypatch.context() as patch:

            async def refuse(changes: Any) -> Any:
                raise StoreError("no room")

            patch.setattr(runtime.store, "commit", refuse)
            with pytest.raises(StoreError, match="no room"):
                await runtime.open("s", "ann")
            with pytest.raises(SessionNotFound):
                runtime.sessions.get("s", "ann")
        session = await runtime.open("s", "bob")
        assert (await session.call("now")).value == ["s", "bob"]


# Ids


@pytest.mark.parametrize(
    "bad",
    ["", "a" * 201, "x" * 1_000_000, "a\x00b", "a\nb", "\x7f", "\ud800", "a\u2028", "a\u200b", "\u202ea"],
    ids=lambda text: repr(text[:9]),
)
async def test_e2_ids_that_cannot_be_used_are_refused(bad: str) -> None:
    async with Runtime(TOOLS) as runtime:
        for given in [(bad, "ann"), ("s", bad)]:
            with pytest.raises(SessionIdInvalid, match="must have 1 to 200 printable characters") as refused:
                await runtime.open(*given)
            assert len(str(refused.value)) < 100
        assert len(runtime.sessions) == 0


ODD = [
    "../../etc/passwd",
    "'; DROP TABLE sessions; --",
    '"',
    "%s %(name)s {0} $1 :id ?",
    "\\",
    " ",
    "a",
    " a",
    "a ",
    "A",
    "а",  # Cyrillic
    "ａ",  # full width
    unicodedata.normalize("NFC", "é"),
    unicodedata.normalize("NFD", "é"),
    "ß",
    "ss",
    "ı",
    "😀",
    "null",
    "0",
    "00",
]


async def test_e2_similar_ids_are_different_sessions(store_url: str) -> None:
    async with Runtime(TOOLS, store=store_url) as runtime:
        for number, name in enumerate(ODD):
            session = await runtime.open(name, f"user {number}")
            assert (await session.call("now", call_id=name)).value == [name, f"user {number}"]
            await session.notice(name)
        for number, name in enumerate(ODD):
            session = await runtime.open(name, f"user {number}")
            assert (await board_of(session))[-1].data["message"] == name
            with pytest.raises(SessionNotFound):
                await runtime.open(name, "mallory")
    if store_url != "memory://":
        async with Runtime(TOOLS, store=store_url) as runtime:
            for number, name in enumerate(ODD):
                (*_, last) = await board_of(await runtime.open(name, f"user {number}"))
                assert (last.seq, last.data["message"]) == (5, name)


async def test_e2_similar_user_ids_are_different_users(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        await runtime.open("s", "é")
        for other in (unicodedata.normalize("NFD", "é"), "É", "é ", "e"):
            with pytest.raises(SessionNotFound):
                await runtime.open("s", other)


# The stored row


def read_state(url: str) -> dict[str, Any]:
    """Read the row of the session with the database's own tools."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.row_factory = sqlite3.Row
        (row,) = connection.execute("SELECT * FROM session_tool_state")
        connection.close()
        return dict(row)
    with psycopg.connect(url) as database, database.cursor(row_factory=dict_row) as cursor:
        cursor.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'session_tool_state'"
        )
        kinds = {row["column_name"]: row["data_type"] for row in cursor.fetchall()}
        assert [kinds[name] for name in ("namespaces", "available_tools", "unconsumed_results")] == ["jsonb"] * 3
        (row,) = cursor.execute("SELECT * FROM session_tool_state").fetchall()
        return row


def as_list(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


async def test_e7_state_of_a_session_is_one_row(shared_url: str) -> None:
    @tool(namespace="time", mode="background")
    async def late() -> str:
        """Return a late result."""
        return "there"

    clock = ManualClock()
    async with Runtime([now, late, hang], store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann", namespaces=["time"])
        outcome = await session.call("late")
        await ended(session, outcome.execution_id)
        row = read_state(shared_url)
        assert (row["session_id"], row["user_id"]) == ("s", "ann")
        assert as_list(row["namespaces"]) == ["time"]
        assert as_list(row["available_tools"]) == ["now", "late"]
        assert as_list(row["unconsumed_results"]) == [outcome.execution_id]
        assert row["created_at"] == row["updated_at"] == clock.time()
        await clock.advance(60)
        await session.take_results()
        await session.close()
        row = read_state(shared_url)
        assert as_list(row["unconsumed_results"]) == []
        assert (row["created_at"], row["updated_at"]) == (clock.time() - 60, clock.time())
    async with stored(shared_url) as store:
        (again,) = await store.sessions("ann")
        assert (again.id, again.open, again.tools) == ("s", False, ("now", "late"))
        assert await store.sessions("bob") == []
