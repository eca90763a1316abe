"""Streams: pushed immediately, resumed without gap or repeat, and isolated from each other."""

import asyncio
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from callboard import Runtime
from callboard.events.board import Board
from callboard.events.event import Events, encode_event
from callboard.events.routing import Family
from callboard.server import event_stream
from callboard.server.app_services import AppServices
from callboard.server.event_stream import EventStream
from callboard.server.models import State
from callboard.server.reader import Reader
from callboard.server.session_state import read_state
from callboard.server.sse import chunks, frame, name_of
from callboard.server.streams import SLOTS, Streams
from callboard.sessions.live_session import LiveSession
from callboard.sessions.session import Session, live_session
from callboard.storage.change import Change
from callboard.testing import ManualClock
from tests.server.conftest import DEADLINE, TOOLS, Sent, Served, serve, take, until

pytestmark = pytest.mark.anyio


async def opened(served: Served, session_id: str, notices: int = 0) -> Session:
    session = await served.runtime.open(session_id, "local")
    for number in range(notices):
        await session.notice(f"notice {number}")
    return session


def numbers(seen: list[Sent]) -> list[int]:
    return [each.id for each in seen if each.id is not None]


async def test_h2_events_are_pushed_with_their_number_kind_and_data(served: Served) -> None:
    session = await opened(served, "push")
    async with served.stream("push") as stream:
        first = await anext(stream)
        assert (first.event, first.id, first.data["last_seq"]) == ("snapshot", 0, 0)
        await session.notice("hello")
        pushed = await anext(stream)
    assert (pushed.id, pushed.event) == (1, "system_notice")
    assert (pushed.data["seq"], pushed.data["kind"], pushed.data["data"]["message"]) == (1, "system_notice", "hello")


async def test_h2_cursor_zero_starts_at_the_oldest_stored_event(served: Served) -> None:
    await opened(served, "all", notices=5)
    async with served.stream("all", after=0) as stream:
        assert numbers(await take(stream, lambda sent: sent.id == 5)) == [1, 2, 3, 4, 5]


async def test_h2_stream_resumes_after_its_cursor_and_the_header_takes_precedence(served: Served) -> None:
    session = await opened(served, "resume", notices=5)
    async with served.stream("resume", after=1, last_event_id=3) as stream:
        assert numbers(await take(stream, lambda sent: sent.id == 5)) == [4, 5]
        await session.notice("more")
        assert (await anext(stream)).id == 6


async def test_h2_stream_without_a_cursor_starts_with_a_snapshot(served: Served) -> None:
    session = await opened(served, "snap", notices=3)
    async with served.stream("snap") as stream:
        first = await anext(stream)
        state = (await served.get("/api/state", {"session_id": "snap"})).json()
        assert (first.event, first.id, first.data) == ("snapshot", 3, state)
        await session.notice("after")
        assert (await anext(stream)).id == 4


@pytest.mark.parametrize(
    ("params", "status", "code"),
    [
        ({"after": 6}, 409, "cursor_ahead"),
        ({"last_event_id": 6}, 409, "cursor_ahead"),
        ({"last_event_id": "1\u00b2"}, 400, "cursor_invalid"),
        ({"last_event_id": "9" * 30}, 400, "cursor_invalid"),
        ({"after": -1}, 422, "invalid"),
        ({"after": "x"}, 422, "invalid"),
        ({"family": "other"}, 422, "invalid"),
    ],
)
async def test_h2_invalid_cursors_are_refused(plain: Served, params: dict[str, Any], status: int, code: str) -> None:
    await opened(plain, "bad", notices=5)
    query = {"session_id": "bad", **params}
    last = query.pop("last_event_id", None)
    headers = {} if last is None else {b"last-event-id": str(last).encode("latin-1")}
    async with asyncio.timeout(DEADLINE):
        answer = await plain.client.get("/api/chat/stream", params=query, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_h2_expired_cursor_gets_a_snapshot() -> None:
    async with serve(Runtime(TOOLS, keep_events=10)) as served:
        session = await opened(served, "old", notices=40)
        first = session.board.first_seq
        assert first > 5
        async with served.stream("old", after=2) as stream:
            again = await anext(stream)
            assert (again.event, again.id) == ("resync", 40)
            await session.notice("more")
            assert (await anext(stream)).id == 41
        async with served.stream("old", after=0) as stream:
            assert numbers(await take(stream, lambda sent: sent.id == 41)) == list(range(first, 42))


async def test_h2_stream_of_a_family_has_only_its_events_and_can_resume(served: Served) -> None:
    session = await opened(served, "family", notices=2)
    await session.call("add", {"a": 1, "b": 2})
    last = session.board.last_seq
    async with (
        served.stream("family", after=0, family="system") as system,
        served.stream("family", after=0, family="chat") as chat,
    ):
        await session.notice("end")
        await served.post("/api/chat", {"session_id": "family", "message": "hello"})
        seen = await take(system, lambda sent: sent.id == last + 1)
        assert {each.event for each in seen} == {"system_notice"}
        talk = await take(chat, lambda sent: sent.event == "turn_finished")
    assert "system_notice" not in {each.event for each in talk}
    assert {"tool_started", "tool_result", "user_input", "turn_started", "text"} <= {each.event for each in talk}


async def test_h2_live_text_has_no_number_and_keeps_its_order(plain: Served) -> None:
    session = await opened(plain, "live")
    async with plain.stream("live") as stream:
        await anext(stream)
        await session.notice("before")
        live_session(session).board.deliver_live(encode_event("text", 0.0, b'{"delta":"now"}'))
        await session.notice("after")
        seen = [await anext(stream) for _ in range(3)]
    assert [(each.id, each.event) for each in seen] == [(1, "system_notice"), (None, "text"), (2, "system_notice")]


async def test_h2_quiet_stream_gets_only_heartbeats() -> None:
    clock = ManualClock()
    async with serve(Runtime(TOOLS, clock=clock)) as served:
        await opened(served, "quiet")
        async with (
            asyncio.timeout(DEADLINE),
            served.client.stream("GET", "/api/chat/stream", params={"session_id": "quiet", "after": 0}) as response,
        ):
            pieces = response.aiter_raw()
            assert await anext(pieces) == b"retry: 1000\n\n"
            waiting = asyncio.ensure_future(anext(pieces))
            await clock.advance(15 / SLOTS / 2)
            assert not waiting.done()
            await clock.advance(15)
            assert await waiting == b":\n\n"


async def test_h2_one_timer_serves_all_readers_and_stops_with_the_last() -> None:
    clock = ManualClock()
    async with serve(Runtime(TOOLS, clock=clock)) as served:
        session = await opened(served, "many")
        before = clock.pending
        async with served.stream("many") as one, served.stream("many") as other:
            _ = await anext(one), await anext(other)
            assert clock.pending == before + 1
            assert len(served.services.streams) == 2
        await until(lambda: not session.board.has_readers)
        await clock.advance(15)
        assert clock.pending == before


async def test_h2_readers_of_a_session_share_one_subscription(served: Served) -> None:
    session = await opened(served, "shared")
    async with served.stream("shared") as one, served.stream("shared") as other:
        _ = await anext(one), await anext(other)
        await asyncio.gather(*(session.notice(str(each)) for each in range(20)))
        mine, theirs = [await take(each, lambda sent: sent.id == 20) for each in (one, other)]
    assert mine == theirs
    assert numbers(mine) == list(range(1, 21))


async def test_h2_readers_are_bounded() -> None:
    clock = ManualClock()
    async with serve(Runtime(TOOLS, clock=clock), streams=Streams(clock, most=2, per_session=1)) as served:
        for session_id in "abc":
            await opened(served, session_id)
        async with served.stream("a") as one, served.stream("b") as other:
            _ = await anext(one), await anext(other)
            for session_id in "abc":
                refused = await served.get("/api/chat/stream", {"session_id": session_id})
                assert (refused.status_code, refused.json()["code"]) == (503, "too_many_readers")


async def test_h2_events_of_another_process_are_pushed(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/board.db"
    async with serve(Runtime(TOOLS, store=url)) as served, Runtime(TOOLS, store=url, recover=False) as other:
        await opened(served, "both", notices=1)
        theirs = await other.open("both", "local")
        async with served.stream("both", after=0) as stream:
            assert (await anext(stream)).id == 1
            await theirs.notice("from elsewhere")
            assert (await anext(stream)).data["data"]["message"] == "from elsewhere"


async def test_b8_a_new_reader_beside_a_stalled_one_of_a_closed_fanout_gets_new_events(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(Runtime(TOOLS, store=sqlite_url)) as served:
        session, store = await opened(served, "cut", notices=1), served.runtime.store

        async def never(message: Any) -> None:
            await asyncio.Event().wait()

        stalled = Reader(EventStream(served.services, live_session(session), 1, None), never, 1)
        with served.services.streams.reading(live_session(session), stalled):
            (line,) = (await store.events("cut", 0, 1)).lines
            with monkeypatch.context() as held:  # as another process does, whose notification comes after the trim
                held.setattr(Board, "refresh", lambda _board: None)
                await store.commit([Change("cut", events=[line] * 29)])
                await store.trim("cut", keep=10, before=0.0)
            live_session(session).board.refresh()
            await until(lambda: stalled._final_event == "goodbye")
            async with served.stream("cut") as stream:
                await anext(stream)
                assert await session.notice("And now?") == 31
                async with asyncio.timeout(DEADLINE):
                    assert (await anext(stream)).id == 31
        await stalled.close()


@pytest.mark.parametrize(
    "text", ["a\nevent: forged\ndata: {}\n\n", "\r\r", "\u2028\u2029\x85", "\x00", 'x"}\n\nid: 99', "\ud7ff\U0001f600"]
)
async def test_h2_data_cannot_escape_its_frame(plain: Served, text: str) -> None:
    session = await opened(plain, "inject")
    async with plain.stream("inject") as stream:
        await anext(stream)
        await session.call("shout", {"text": text})
        await session.notice("end")
        seen = await take(stream, lambda sent: sent.event == "system_notice")
    assert [each.id for each in seen] == list(range(1, len(seen) + 1))
    assert seen[0].data["data"]["arguments"] == {"text": text}


def test_h2_name_of_a_frame_is_always_valid() -> None:
    for kind in ("x\\nevent: y", "", "A", 'a\\"b', "é", "a" * 200):
        line = b'{"kind":"%b","at":"","data":{}}' % kind.encode()
        assert name_of(line) == b"unknown"
        assert frame(1, line).count(b"\n") == 4
    assert name_of(b'{"at": "", "data": {}, "kind": "text"}') == b"text"
    broken = frame(1, b'{"kind":"text",\n"at":"",\r"data":{}}')
    assert broken.count(b"\n") == 4
    assert b"\r" not in broken


def test_pending_events_are_sent_in_chunks_of_bounded_size() -> None:
    lines = [encode_event("system_notice", 0.0, b'{"message":"%b"}' % (b"x" * 1000)) for _ in range(1000)]
    pieces = list(chunks(Events(1, lines), None))
    assert 3 < len(pieces) < 6
    assert b"".join(pieces) == b"".join(frame(seq, line) for seq, line in enumerate(lines, 1))
    assert list(chunks(Events(1, lines), Family.CHAT)) == []


async def stop_reading(served: Served, session_id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Request a stream, and read almost nothing of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1024)
    writer.write(f"GET /api/chat/stream?session_id={session_id} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    head = await asyncio.wait_for(reader.readuntil(b"snapshot"), DEADLINE)
    assert b"200 OK" in head
    return reader, writer


async def flood(session: Session, events: int) -> None:
    """Write far more than all buffers hold."""
    for _ in range(events):
        await session.notice("x" * 50_000)
        await asyncio.sleep(0)


async def test_b7_slow_reader_delays_no_other_and_misses_nothing_with_a_bounded_buffer() -> None:
    clock = ManualClock()
    async with serve(Runtime(TOOLS, clock=clock), streams=Streams(clock, buffer=100_000)) as served:
        session = await opened(served, "slow")
        reader, writer = await stop_reading(served, "slow")
        async with served.stream("slow") as quick:
            await anext(quick)
            await flood(session, 400)
            assert numbers(await take(quick, lambda sent: sent.id == 400)) == list(range(1, 401))
        await until(lambda: len(served.services.streams) == 1)
        [slow] = [each for slot in served.services.streams._slots for each in slot]
        assert slow.behind
        assert sum(map(len, slow._pending)) <= 100_000
        got = b""
        async with asyncio.timeout(DEADLINE):
            while b"id: 400\n" not in got:
                got += await reader.read(1 << 20)
        assert [int(each) for each in _ids(got)] == list(range(1, 401))
        writer.close()


async def test_b7_reader_that_stops_reading_is_disconnected_and_can_resume() -> None:
    clock = ManualClock()
    async with serve(Runtime(TOOLS, clock=clock), streams=Streams(clock, buffer=100_000)) as served:
        session = await opened(served, "stuck")
        reader, writer = await stop_reading(served, "stuck")
        await flood(session, 400)
        for _ in range(3):
            await clock.advance(15)
        await until(lambda: not len(served.services.streams))
        assert not session.board.has_readers
        got = b""
        with suppress(ConnectionError):  # it was aborted
            async with asyncio.timeout(DEADLINE):
                while piece := await reader.read(1 << 20):
                    got += piece
        last = max(map(int, _ids(got)[:-1]))  # the last id may be cut off
        assert last < 400
        async with served.stream("stuck", last_event_id=last) as again:
            assert numbers(await take(again, lambda sent: sent.id == 400)) == list(range(last + 1, 401))
        writer.close()


async def test_b7_burst_larger_than_the_buffer_reaches_a_reader() -> None:
    clock = ManualClock()
    async with serve(Runtime(TOOLS, clock=clock), streams=Streams(clock, buffer=10_000)) as served:
        session = await opened(served, "burst")
        async with served.stream("burst") as stream:
            await anext(stream)
            for number in range(300):  # in one iteration of the event loop
                await session.notice(f"{number} {'x' * 1000}")
            assert numbers(await take(stream, lambda sent: sent.id == 300)) == list(range(1, 301))
            await session.notice("and goes on")
            assert (await anext(stream)).id == 301


def _ids(got: bytes) -> list[bytes]:
    return [line[4:] for line in got.split(b"\n") if line.startswith(b"id: ") and line[4:].isdigit()]


async def test_disconnected_client_is_removed(plain: Served) -> None:
    session = await opened(plain, "leave")
    async with (
        httpx2.AsyncClient(base_url=plain.url, timeout=DEADLINE, verify=False) as client,
        client.stream("GET", "/api/chat/stream", params={"session_id": "leave"}) as response,
    ):
        assert response.status_code == 200
        await anext(response.aiter_raw())
    await until(lambda: not len(plain.services.streams) and not session.board.has_readers)


async def test_h2_stream_of_a_session_that_is_deleted_while_its_snapshot_is_read_is_refused(
    plain: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plain.session("s")

    async def read_and_delete(services: AppServices, session: LiveSession) -> State:
        state = await read_state(services, session)
        assert (await plain.client.delete("/api/sessions/s")).json() == {"deleted": True}
        return state

    monkeypatch.setattr(event_stream, "read_state", read_and_delete)
    refused = await plain.get("/api/chat/stream", {"session_id": "s"})
    assert (refused.status_code, refused.json()["code"]) == (404, "session_not_found")
