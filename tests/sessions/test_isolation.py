"""Many users at once: every value names its owner, and none is found with another user (E2)."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field
from pydantic_core import from_json, to_json

from callboard import Event, Limits, Runtime, Session, ToolContext, tool
from callboard.events.event import encode_event
from callboard.sessions.ids import SessionNotFound
from callboard.sessions.session import live_session
from callboard.sessions.session_rows import session_row
from callboard.storage.change import Change
from callboard.storage.errors import Conflict

from .conftest import SOON, board_of, ended, seen, stored

pytestmark = pytest.mark.anyio

USERS = 50
TAG = re.compile(r"<(\w+)>")
"""Whose a value is: `<user7>`, wherever it stands."""


def owners(value: Any) -> set[str]:
    """Return the owners that a value names."""
    data = value.encoded if isinstance(value, Event) else to_json(value, fallback=repr)
    return set(TAG.findall(data.decode()))


def tagged(ctx: ToolContext, given: str) -> str:
    """Return a result that names the owner in the context and the owner in the arguments."""
    return f"<{ctx.user_id}> {given} {ctx.session_id}"


@tool
async def echo(ctx: ToolContext, text: Annotated[str, "What"]) -> str:
    """Return the text."""
    return tagged(ctx, text)


@tool
async def turn(ctx: ToolContext, text: Annotated[str, "What"]) -> str:
    """Return the text after other tasks ran."""
    for _ in range(3):
        await asyncio.sleep(0)
    return tagged(ctx, text)


@tool
def threaded(ctx: ToolContext, text: Annotated[str, "What"]) -> str:
    """Return the text from a thread."""
    return tagged(ctx, text)


@tool(mode="background")
async def late(ctx: ToolContext, text: Annotated[str, "What"]) -> str:
    """Return the text later."""
    await ctx.progress(tagged(ctx, text))
    await ctx.partial(tagged(ctx, text))
    return tagged(ctx, text)


@tool
async def parts(ctx: ToolContext, text: Annotated[str, "What"]) -> AsyncIterator[str]:
    """Return the text in parts."""
    yield tagged(ctx, text)
    yield tagged(ctx, text)


@tool(mode="human")
async def approve(ctx: ToolContext, text: Annotated[str, "What"]) -> str:
    """Return the text if a person approves."""
    return tagged(ctx, text)


class Said(BaseModel):
    words: str = Field(description="What")


@tool(mode="human", answer=Said)
async def ask(text: Annotated[str, "What"]) -> Said:  # pyright: ignore[reportReturnType]
    """Ask a person."""


@tool
async def fails(ctx: ToolContext, text: Annotated[str, "What"]) -> None:
    """Fail with a message that names the owner."""
    raise RuntimeError(tagged(ctx, text))


@tool
async def refresh(ctx: ToolContext, text: Annotated[str, "What"]) -> str:
    """Answer a person."""
    return tagged(ctx, text)


TOOLS = (echo, turn, threaded, late, parts, approve, ask, fails)


async def live(session: Session, me: str) -> None:
    """Use every mode as one user, with ids that all other users use too."""
    tag = f"<{me}>"
    given = {"text": tag}
    wanted = {"kind": "user_request", "request_kind": "refresh", "request_id": "q", "payload": given}
    posting = asyncio.gather(session.post(wanted), session.notice(tag))
    outcomes = await asyncio.gather(*(session.call(each.name, given, call_id=each.name) for each in TOOLS))
    await posting
    for request in await session.requests():
        answer = {"approved": True} if request.tool == "approve" else {"words": tag}
        await session.answer(request.id, answer)
    results = [await ended(session, outcome.execution_id) for outcome in outcomes]
    await seen(session, "user_response", request_id="q")
    for found in (*outcomes, *results, await session.history(), await session.requests()):
        assert owners(found) <= {me}
    assert {outcome.call_id for outcome in results} == {each.name for each in TOOLS}


async def audit(session: Session, me: str) -> None:
    """Check that the board and the late results of a user are complete and belong to the user."""
    events = await board_of(session)
    assert {owner for event in events for owner in owners(event)} == {me}
    ends = [event.data for event in events if event.kind == "tool_result"]
    assert sorted(data["call_id"] for data in ends) == sorted(each.name for each in TOOLS)
    for data in ends:
        if data["call_id"] not in ("ask", "fails"):
            value = data["value"]
            assert value == f"<{me}> <{me}> {session.id}", "whose call, whose arguments, whose session"
    taken = await session.take_results()
    assert {outcome.call_id for outcome in taken} == {"late", "parts", "approve", "ask"}
    assert {owner for outcome in taken for owner in owners(outcome.value)} == {me}
    assert not session.has_pending_work


async def test_e2_data_of_fifty_users_is_never_found_with_another_user(store_url: str) -> None:
    limits = Limits(total=100, per_session=3, threads=4)  # so that they get into each other's way
    users = [f"user{number}" for number in range(USERS)]
    async with Runtime(TOOLS, store=store_url, workers=[refresh], limits=limits) as runtime:
        sessions = await asyncio.gather(*(runtime.open(f"of {user}", user) for user in users))
        await asyncio.gather(*(live(session, user) for session, user in zip(sessions, users, strict=True)))
        if store_url == "memory://":
            await asyncio.gather(*(audit(session, user) for session, user in zip(sessions, users, strict=True)))
            return
    async with Runtime(TOOLS, store=store_url) as runtime:  # the stored sessions are as separate as those in memory
        sessions = await asyncio.gather(*(runtime.open(f"of {user}", user) for user in users))
        await asyncio.gather(*(audit(session, user) for session, user in zip(sessions, users, strict=True)))


def test_e2_checker_finds_data_of_another_user() -> None:
    assert owners({"a": ["x <ann> y"], "b": "<bob>"}) == {"ann", "bob"}
    assert owners(Event(1, b'{"kind":"text","at":"","data":{"text":"<eve>"}}')) == {"eve"}


async def test_e2_id_reused_by_another_user_reveals_nothing_to_a_process_that_knew_it(
    shared_url: str,
) -> None:
    heard: list[Event] = []
    started = asyncio.Event()
    go = asyncio.Event()

    @tool(mode="background")
    async def slow(ctx: ToolContext) -> str:
        """Report on request."""
        started.set()
        await go.wait()
        await ctx.progress("ann's business")
        return "ann's result"

    async with Runtime([slow], store=shared_url) as runtime, stored(shared_url) as store:
        hers = await runtime.open("x", "ann")
        hers.subscribe(heard.extend)
        await hers.call("slow")
        await asyncio.wait_for(started.wait(), SOON)
        await live_session(hers).settle()
        row = session_row(live_session(hers))
        before = len(heard)
        theirs = [encode_event("system_notice", 1.0, b'{"message":"bob\'s business"}') for _ in range(20)]
        await store.delete("x")
        bobs = replace(row, user_id="bob", created_at=row.created_at + 1)
        await store.commit([Change("x", session=bobs, events=theirs)])

        go.set()
        with pytest.raises((Conflict, SessionNotFound)):
            await hers.post({"kind": "system_notice", "message": "from ann"}, side="runtime")
        async with asyncio.timeout(SOON):
            while not live_session(hers).deleted:
                runtime.sessions.notified("x")
                await asyncio.sleep(0)
        assert [from_json(line) for line in (await store.events("x", 0, 100)).lines] == [
            from_json(each) for each in theirs
        ]
        assert await store.executions("x") == []
        assert "bob" not in "".join(str(event.data) for event in heard)
        assert len(heard) >= before
