"""Mistakes of people, models and clocks: each is a clear error or is handled, without side effects (B3, E2)."""

import re
from functools import partial
from typing import Annotated, Any

import pytest

from callboard import CallboardError, Runtime, ToolError, tool
from callboard.events.kinds import EventKind
from callboard.events.posting import MAX_EVENT_BYTES, PostingRefused
from callboard.events.problems import EventInvalid, EventTooLarge
from callboard.events.routing import Side, may_post
from callboard.sessions.ids import CallIdInvalid
from callboard.testing import ManualClock

from .conftest import Make, board_of, ended

pytestmark = pytest.mark.anyio


@tool
async def echo(text: Annotated[str, "What"] = "") -> str:
    """Return the text."""
    return text


@tool(mode="background")
async def late(text: Annotated[str, "What"] = "") -> str:
    """Return the text later."""
    return text


async def test_b3_kinds_that_people_may_not_post_are_refused_before_their_shape_is_checked(make: Make) -> None:
    async with make(echo) as runtime:
        session = await runtime.open("s", "ann")
        for side in (Side.PEOPLE, Side.WORKERS, Side.MODEL):
            for kind in (*EventKind, "from_the_future", "", "x" * 10_000):
                if not may_post(kind, side):
                    with pytest.raises(PostingRefused) as refused:
                        await session.post({"kind": kind, "nonsense": object()}, side=side)
                    assert len(str(refused.value)) < 500
        assert await board_of(session) == []


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"kind": None},
        {"kind": "user_input"},
        {"kind": "user_input", "text": ""},
        {"kind": "user_input", "text": " "},
        {"kind": "user_input", "text": 5},
        {"kind": "user_input", "text": "\ud800"},
        {"kind": "user_input", "text": "a", "more": 1},
        {"kind": "human_answer", "request_id": "", "answer": 1},
        {"kind": "human_answer", "request_id": "a\x00b", "answer": 1},
        {"kind": "user_request", "request_kind": "a", "payload": float("nan")},
        {"kind": "user_request", "request_kind": "a", "payload": {1: object()}},
        {"kind": "user_request", "request_kind": "a\n", "payload": 1},
        {"kind": "user_request", "request_kind": "a", "request_id": "x" * 201},
        {"kind": "wallet_tx_response", "request_id": "r", "status": "maybe"},
    ],
    ids=lambda event: repr(event)[:50],
)
async def test_b3_events_of_a_wrong_shape_are_refused(event: dict[str, Any]) -> None:
    async with Runtime([echo]) as runtime:
        session = await runtime.open("s", "ann")
        with pytest.raises(EventInvalid) as refused:
            await session.post(event)
        assert refused.value.problems
        assert session.board.last_seq == 0


async def test_b3_events_that_are_too_large_or_too_deep_are_refused(make: Make) -> None:
    async with make(echo) as runtime:
        session = await runtime.open("s", "ann")
        with pytest.raises(EventTooLarge) as refused:
            await session.post({"kind": "user_input", "text": "x" * MAX_EVENT_BYTES})
        assert (refused.value.code, refused.value.limit) == ("event_too_large", MAX_EVENT_BYTES)
        deep: Any = None
        for _ in range(500):
            deep = [deep]
        with pytest.raises(EventInvalid, match="nested too deeply"):
            await session.post({"kind": "user_request", "request_kind": "a", "payload": deep})
        assert await session.post({"kind": "user_input", "text": "x" * (MAX_EVENT_BYTES - 100)}) == 1
        assert await session.notice("still works") == 2


async def test_b3_any_text_is_returned_unchanged(store_url: str) -> None:
    texts = [
        "a\x00b",
        "\u2028\u2029\n\r\t.",
        "'; DROP TABLE events; --",
        '"\\',
        "%s {0} $1 ?",
        "😀é",
        "e\u0301",
        "1e400",
    ]
    async with Runtime([echo, late], store=store_url) as runtime:
        session = await runtime.open("s", "ann")
        for text in texts:
            assert (await session.call("echo", {"text": text})).value == text
            await session.post({"kind": "user_input", "text": text})
            await ended(session, (await session.call("late", {"text": text})).execution_id)
        said = [event.data["text"] for event in await board_of(session) if event.kind == "user_input"]
        assert said == texts
    if store_url != "memory://":
        async with Runtime([echo, late], store=store_url) as runtime:
            session = await runtime.open("s", "ann")
            events = await board_of(session)
            assert [event.data["text"] for event in events if event.kind == "user_input"] == texts
            assert all(b"\n" not in event.line for event in events), "one line each"
            assert [outcome.value for outcome in await session.take_results()] == texts


async def test_e2_executions_and_calls_that_do_not_exist(make: Make) -> None:
    async with make(echo) as runtime:
        session = await runtime.open("s", "ann")
        for name in ("", "x" * 100_000, "a\x00b", "\ud800", "'; --"):
            for ask in (session.result, session.cancel):
                with pytest.raises(ToolError, match="There is no execution") as refused:
                    await ask(name)
                assert (refused.value.category, len(str(refused.value)) < 200) == ("not_found", True)
            assert await session.cancel_call(name) is False
        for name in ("", "x" * 201, "a\x00b", "\ud800"):
            with pytest.raises(CallIdInvalid):
                await session.call("echo", call_id=name)
        assert await session.cancel_all() == 0


async def test_e2_cursors_that_do_not_exist(make: Make) -> None:
    async with make(echo) as runtime:
        session = await runtime.open("s", "ann")
        await session.notice("one")
        with pytest.raises(CallboardError, match="The events after -5 are no longer kept"):
            await anext(session.events(-5))
        waiting = session.events(5)  # not yet there: it is waited for
        for _ in range(5):
            await session.notice("more")
        assert (await anext(waiting)).seq == 6
        await waiting.aclose()


async def test_b1_clock_set_back_does_not_change_the_order(store_url: str) -> None:
    class Wild(ManualClock):
        """A clock whose time of day jumps."""

        offset = 0.0

        def time(self) -> float:
            return super().time() + self.offset

    clock = Wild()
    async with Runtime([echo, late], store=store_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        for offset in (0.0, 1e6, -1e8, 5.0, -1e9):
            clock.offset = offset
            assert (await session.call("echo", {"text": str(offset)})).status == "succeeded"
            outcome = await session.call("late", {"text": str(offset)})
            await ended(session, outcome.execution_id)
        events = await board_of(session)
        assert [event.seq for event in events] == list(range(1, 41))
        assert events[0].at > events[-1].at
        texts = [outcome.value for outcome in await session.take_results()]
        assert texts == ["0.0", "1000000.0", "-100000000.0", "5.0", "-1000000000.0"], "in the order in which they came"
        records = await session.history()
        assert [record.ran_for is not None and record.ran_for >= 0 for record in records] == [True] * 10
        await session.close()


async def read(*events: Any) -> None:
    """Read events, as a callback that is never awaited."""


async def test_wrong_arguments_of_a_program_are_refused_where_they_are_given(make: Make) -> None:
    async with make(echo) as runtime:
        session: Any = await runtime.open("s", "ann")
        for call, message in (
            (lambda: session.call(echo), "name it as a string: 'echo'"),
            (lambda: session.events(after="x"), "after is 'x'; it must be a whole number"),
            (lambda: session.events(family="chats"), "There is no family 'chats'. Did you mean 'chat'?"),
            (lambda: session.subscribe(None), "callback is None; it must be a function"),
            (lambda: session.subscribe(print, after=1.5), "after is 1.5; it must be a whole number"),
            (
                lambda: session.subscribe(read),
                "callback is a coroutine function, which is not awaited. Read session",
            ),
            (lambda: session.subscribe(partial(read, 1)), "callback is a coroutine function"),
        ):
            with pytest.raises((TypeError, ValueError), match=re.escape(message)):
                call()
        assert await board_of(session) == []


@pytest.mark.parametrize("limit", [0, -1, None, 1.5, "5", True])
async def test_a_limit_of_the_history_is_a_whole_number_of_at_least_one(make: Make, limit: Any) -> None:
    async with make(echo) as runtime:
        session = await runtime.open("s", "ann")
        await session.call("echo", {"text": "a"})
        with pytest.raises(TypeError, match=f"limit is {limit!r}; it must be (a whole number|at least 1)"):
            await session.history(limit)
        assert len(await session.history(1)) == 1


async def test_wrong_model_is_named_with_what_is_expected() -> None:
    with pytest.raises(CallboardError, match="model is 3; it must be a name, such as 'offline'"):
        Runtime([echo], model=3)
