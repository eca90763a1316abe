"""Load on a runtime: visitors that call, cancel, answer, post, take results, log out and log in again.

A visitor writes each action and each response to the witness before it continues.
"""

import asyncio
import random
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from callboard import Outcome, Runtime, Session
from callboard.events.event import Events
from callboard.execution.execution import Execution
from callboard.sessions.open_request import OpenRequest
from callboard.sessions.requests import RequestClosed
from callboard.storage.errors import StoreUnavailable

from .tools import TOOLS
from .witness import Witness

ALL_DAY: Mapping[str, float] = {
    "call": 50,
    "again": 5,
    "wait": 6,
    "cancel": 4,
    "cancel_all": 0.2,
    "answer": 10,
    "say": 4,
    "ask": 6,
    "take": 3,
    "close": 0.7,
    "look_back": 1,
    "mistake": 2,
}
"""Actions of visitors, and their weights."""
BESIDE: Mapping[str, float] = {"call": 2, "again": 2, "cancel": 1, "answer": 10, "say": 3, "take": 0.5, "look_back": 3}
"""Actions and weights in a process beside the working one."""


def user_of(session_id: str) -> str:
    """Return the user of a session: each has its own, so that users take turns in queues."""
    return f"user of {session_id}"


class Visitor:
    """A user of a session, at the same time as others."""

    def __init__(self, runtime: Runtime, session_id: str, name: str, chance: random.Random, witness: Witness) -> None:
        self._runtime = runtime
        self._session_id = session_id
        self._name = name
        self._chance = chance
        self._witness = witness
        self._count = 0
        self._made: list[tuple[str, str, dict[str, Any], str]] = []
        """Calls that were acknowledged: their ids, tools, arguments and executions."""
        self._asked: list[str] = []
        self._session: Session

    async def stay(self, habits: Mapping[str, float]) -> None:
        """Act until cancelled. An unexpected error is written to the witness and ends the visit."""
        try:
            await self._enter_once_the_store_answers()
            while True:
                name = self._chance.choices([*habits], [*habits.values()])[0]
                act: Callable[[], Awaitable[None]] = getattr(self, f"_{name}")
                with suppress(StoreUnavailable):  # reads fail while the store is away; writes wait
                    await act()
                await asyncio.sleep(self._chance.random() * 0.01)
        except Exception:
            self._witness.write("fault", session=self._session_id, trace=traceback.format_exc())

    async def follow(self, script: Iterable[tuple[str, Any]]) -> None:
        """Carry out the steps of a script, then wait to be killed."""
        await self.enter()
        waiting: list[asyncio.Task[str]] = []
        self._session.subscribe(self._saw, after=0)
        for number, (step, given) in enumerate(script, 1):
            if step == "call":
                waiting.append(asyncio.create_task(self.call(*given)))
                await asyncio.sleep(0)
            elif step == "ask":
                await self._request(given)
            elif step == "answer":
                await self._answer_all(given)
            elif step == "cancel":
                await self._is_asked()
                self._witness.write("cancel", session=self._session_id, execution=None)
                await self._session.cancel_call(given)
            else:
                await self.take()
            self._witness.write("did", number=number)
        await asyncio.Event().wait()

    def _saw(self, events: Events) -> None:
        for event in events:
            self._witness.write("event", kind=event.kind, tool=event.data.get("tool"))

    async def _answer_all(self, answer: Any) -> None:
        """Wait for a request, and answer all that are open."""
        await self._is_asked()
        for row in await self._session.requests():
            await self._session.answer(row.id, answer)

    async def _is_asked(self) -> None:
        """Wait for a request to a person."""
        async for event in self._session.events():
            if event.kind == "human_request":
                break

    async def enter(self) -> None:
        self._session = await self._runtime.open(self._session_id, user_of(self._session_id))

    async def _enter_once_the_store_answers(self) -> None:
        while True:
            with suppress(StoreUnavailable):
                return await self.enter()
            await asyncio.sleep(0.05)

    # Calls

    async def _call(self) -> None:
        tool = self._chance.choice([each.name for each in TOOLS if each.name not in ("block", "hold")])
        call_id, arguments = self._id(), self._arguments(tool)
        execution_id = await self.call(call_id, tool, arguments)
        self._made.append((call_id, tool, arguments, execution_id))
        del self._made[:-100]

    async def call(self, call_id: str, tool: str, arguments: dict[str, Any], how: str = "call") -> str:
        arguments = {"key": call_id, **arguments}
        self._witness.write("call", session=self._session_id, call=call_id, tool=tool, arguments=arguments, how=how)
        return self._record(how, await self._session.call(tool, arguments, call_id=call_id))

    async def _again(self) -> None:
        """Repeat a call id, with the same arguments or with others."""
        if self._made:
            call_id, tool, arguments, _ = self._chance.choice(self._made)
            if self._chance.random() < 0.2:
                await self.call(call_id, tool, {**arguments, "number": -1}, "other")
            else:
                await self.call(call_id, tool, arguments, "again")

    async def _mistake(self) -> None:
        tool = self._chance.choice(["nothing", "charge", "crunch", "pay", "stream"])
        await self.call(self._id(), tool, {"number": "many"})

    async def _wait(self) -> None:
        if self._made:
            execution_id = self._chance.choice(self._made)[3]
            self._record("result", await self._session.result(execution_id, timeout=self._chance.random() * 0.3))

    async def _cancel(self) -> None:
        if self._made:
            call_id, _, _, execution_id = self._made[-1]
            self._witness.write("cancel", session=self._session_id, execution=execution_id)
            if self._chance.random() < 0.3:
                stopped = await self._session.cancel_call(call_id)
            else:
                stopped = await self._session.cancel(execution_id)
            if stopped:
                self._witness.write("stopped", session=self._session_id, execution=execution_id)

    async def _cancel_all(self) -> None:
        self._witness.write("cancel", session=self._session_id, execution=None)
        await self._session.cancel_all()

    def _record(self, how: str, outcome: Outcome) -> str:
        self._witness.write(
            "outcome",
            how=how,
            session=self._session_id,
            call=outcome.call_id,
            execution=outcome.execution_id,
            status=outcome.status,
            value=outcome.value,
            category=None if outcome.error is None else outcome.error.category,
        )
        return outcome.execution_id

    # People

    async def _answer(self) -> None:
        rows = await self._session.requests()
        if rows:
            await self.answer(self._chance.choice(rows))

    async def answer(self, row: OpenRequest) -> None:
        answer = self._answer_to(row)
        facts = {"session": self._session_id, "request": row.id, "execution": row.execution_id, "answer": answer}
        self._witness.write("answer", **facts)
        try:
            seq = await self._session.answer(row.id, answer)
        except RequestClosed:  # another visitor was faster
            self._witness.write("too late", **facts)
        else:
            self._witness.write("answered", seq=seq, **facts)

    def _answer_to(self, row: OpenRequest) -> dict[str, Any]:
        if row.tool == "choose":
            return {"colour": self._chance.choice(["red", "green", "blue"])}
        dice = self._chance.random()
        if dice < 0.2:
            return {"approved": False, "reason": "Not today."}
        if dice < 0.4:
            edited = {**row.payload, "number": self._chance.randrange(1_000)}
            return {"approved": True, "arguments": edited}
        return {"approved": True}

    async def _say(self) -> None:
        text = self._id()
        seq = await self._session.post({"kind": "user_input", "text": text})
        self._witness.write("said", session=self._session_id, seq=seq, text=text)

    async def _ask(self) -> None:
        """Post a request to the system; sometimes repeat one."""
        if self._asked and self._chance.random() < 0.1:
            await self._request(self._chance.choice(self._asked))
            return
        request_id = self._id()
        seq = await self._request(request_id)
        self._witness.write("asked", session=self._session_id, seq=seq, request=request_id)
        if int(request_id.rpartition(".")[2]) % 3 < 2:  # one without a worker is refused each time
            self._asked.append(request_id)

    async def _request(self, request_id: str) -> int:
        number = int(request_id.rpartition(".")[2])
        kind = ("gas_price", "refresh", "unknown")[number % 3]
        payload = {"number": number, "pause": 0.01 * (number % 5)}
        event = {"kind": "user_request", "request_kind": kind, "payload": payload, "request_id": request_id}
        return await self._session.post(event)

    # The session

    async def _take(self) -> None:
        await self.take()

    async def take(self) -> None:
        self._witness.write("take", session=self._session_id)
        outcomes = await self._session.take_results()
        results = [(outcome.execution_id, outcome.status, outcome.value) for outcome in outcomes]
        self._witness.write("taken", session=self._session_id, results=results)

    async def _close(self) -> None:
        self._witness.write("close", session=self._session_id)
        await self._session.close(grace=self._chance.choice([0.0, 0.05, 0.3]))
        await self.enter()

    async def _look_back(self) -> None:
        records = await self._session.history(limit=20)
        for record in records:
            if self._chance.random() < 0.1 and record.parent_id is None and not record.status.terminal:
                self._record("result", await self._session.result(record.id, timeout=0.05))

    def _id(self) -> str:
        self._count += 1
        return f"{self._name}.{self._count}"

    def _arguments(self, tool: str) -> dict[str, Any]:
        arguments: dict[str, Any] = {"number": self._chance.randrange(1_000)}
        if tool not in ("tally", "choose"):
            arguments["pause"] = round(self._chance.random() ** 3 * 0.2, 4)
        return arguments


async def rest(visitor: Visitor, session: Session, again: list[tuple[str, str, dict[str, Any]]], take: bool) -> None:
    """Wait until all work of a session has ended, and answer every second request."""
    await until_only_people_are_awaited(session)
    for call_id, tool, arguments in again:
        await visitor.call(call_id, tool, arguments, "again")
    for row in (await session.requests())[::2]:
        await visitor.answer(row)
    await until_only_people_are_awaited(session)
    if take:
        await visitor.take()


async def until_idle(runtime: Runtime, session_ids: Sequence[str] = ()) -> None:
    """Wait until nothing runs in this process, except executions that wait for people.

    In these sessions it also waits for executions that no process holds and whose person has answered.
    """
    while True:
        while running := _running(runtime):
            await runtime.manager.wait(running[0])
        orphans = [session_id for session_id in session_ids if await _has_answered_orphans(runtime, session_id)]
        if not orphans and not _running(runtime):
            return
        await asyncio.sleep(0.02)


def _running(runtime: Runtime) -> list[Execution]:
    return [each for each in runtime.manager.live if each.request is None or each.status != "waiting"]


async def _has_answered_orphans(runtime: Runtime, session_id: str) -> bool:
    rows = await runtime.store.executions(session_id, unfinished=True, limit=100_000)
    asked = {row.execution_id for row in await runtime.store.requests(session_id=session_id, status="open")}
    return any(row.owner is None and row.status == "waiting" and row.id not in asked for row in rows)


async def until_only_people_are_awaited(session: Session) -> None:
    while True:
        open_requests = {row.execution_id for row in await session.requests()}
        records = await session.history(limit=100_000)
        if all(record.status.terminal or record.id in open_requests for record in records):
            return
        await asyncio.sleep(0.02)
