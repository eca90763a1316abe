"""Random histories of a real conversation: inputs, late results, answers, interrupts, failures, restarts in any order.

At every moment every provider accepts the transcript, every input is delivered once and in order, every result reaches
the model exactly once, and the messages that were sent only grow at their end (C3, C4, C5, M4, M5, M7).
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_core import to_json

from callboard import Event, Runtime, Session, ToolContext, ToolError, tool
from callboard.chat.transcript import CallAnswer, Input, LateResult
from callboard.events.shapes import SHAPES
from callboard.sessions.requests import RequestClosed
from callboard.sessions.session import live_session

from .pairing import problems, render, unanswered
from .scripted import flattened, transcript_of

pytestmark = pytest.mark.anyio


class World:
    """One conversation with random events."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.running: list[asyncio.Event] = []
        self.written: list[str] = []
        self.told: list[str] = []
        self.sent: list[Any] = []
        """The parts of the last request."""
        self.wrong: list[str] = []
        """The problems of requests, collected because an error in the model would only fail its turn."""
        self.background: set[asyncio.Future[Any]] = set()

    def tools(self) -> list[Any]:
        @tool(mode="background", idempotent=True)
        async def build(ctx: ToolContext, number: Annotated[int, "Any"]) -> int:
            """Build."""
            self.running.append(gate := asyncio.Event())
            await gate.wait()
            return number

        @tool(idempotent=True)
        async def wait(ctx: ToolContext, number: Annotated[int, "Any"]) -> int:
            """Wait."""
            self.running.append(gate := asyncio.Event())
            await gate.wait()
            return number

        @tool
        async def add(number: Annotated[int, "Any"]) -> int:
            """Add."""
            return number + 1

        @tool
        async def fail(number: Annotated[int, "Any"]) -> int:
            """Fail."""
            raise ToolError("No.", category="permanent")

        @tool(mode="human")
        async def ask(number: Annotated[int, "Any"]) -> int:
            """Ask."""
            return number

        return [build, wait, add, fail, ask]

    def model(self) -> FunctionModel:
        return FunctionModel(stream_function=self._respond, model_name="by chance")

    async def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        self.wrong += problems(messages)
        chance = self.chance
        told = [
            str(part.content)
            for message in messages
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
        ]
        sent = flattened(messages)
        if sent[: len(self.sent)] != self.sent:
            place = next(n for n, old in enumerate(self.sent) if sent[n : n + 1] != [old])
            self.wrong.append(f"part {place} of what was sent is another: {self.sent[place]} {sent[place : place + 1]}")
        self.told, self.sent = told, sent
        if chance.random() < 0.1:
            raise ConnectionError("gone")
        if chance.random() < 0.5:
            yield "Well. "
        await asyncio.sleep(0)
        if chance.random() < 0.1:
            raise ConnectionError("gone in the middle")
        if len(told) > 30 or chance.random() < 0.4:
            yield "Done."
            return
        for index in range(chance.choice([1, 1, 2, 3])):
            name = chance.choice(["build", "build", "wait", "add", "fail", "ask", "nothing"])
            arguments = chance.choice(['{"number":1}', '{"number":2}', '{"number":', '{"other":1}'])
            yield {
                index: DeltaToolCall(name, arguments, tool_call_id=chance.choice(["same", f"c{len(messages)}{index}"]))
            }

    async def happen(self, session: Session) -> None:
        """Run a random event."""
        await self.chance.choice(
            [
                *[self._write] * 2,
                *[self._finish] * 3,
                self._answer,
                self._interrupt,
                self._breathe,
            ]
        )(session)

    async def _write(self, session: Session) -> None:
        text = str(len(self.written))
        await session.post({"kind": "user_input", "text": text})
        self.written.append(text)

    async def _finish(self, session: Session) -> None:
        if self.running:
            self.running.pop(self.chance.randrange(len(self.running))).set()

    async def _answer(self, session: Session) -> None:
        if requests := await session.requests():
            with suppress(RequestClosed):
                await session.answer(self.chance.choice(requests).id, {"approved": self.chance.random() < 0.7})

    async def _interrupt(self, session: Session) -> None:
        await session.interrupt()

    async def _breathe(self, session: Session) -> None:
        for _ in range(self.chance.randrange(30)):
            await asyncio.sleep(0)

    async def calm_down(self, session: Session) -> None:
        """End all executions, requests and turns, also a turn that the process before left and that is taken over."""
        live = live_session(session)
        async with asyncio.timeout(60):
            while (
                (live.durable and await live.services.store.running_turns([session.id]))
                or session.is_processing
                or session.has_pending_work
                or self.told != self.written
            ):
                await self._finish(session)
                await self._answer(session)
                if not session.is_processing and (self.told != self.written or live_session(session).results):
                    await self._write(session)  # the last turn failed or was stopped: people say something
                await asyncio.sleep(0)

    async def check(self, session: Session, *, calm: bool = False) -> None:
        assert self.wrong == []
        entries = await transcript_of(session)
        assert problems(render(entries)) == []
        inputs = [entry.text for entry in entries if isinstance(entry, Input)]
        assert inputs == self.written[: len(inputs)]
        late = [entry.execution_id for entry in entries if isinstance(entry, LateResult)]
        assert len(set(late)) == len(late)
        direct = {entry.execution_id for entry in entries if isinstance(entry, CallAnswer) and _is_final(entry)}
        assert not direct.intersection(late)  # a result is the answer to its call, or comes late: never both
        if calm:
            assert unanswered(entries) == []
            assert inputs == self.written
            made = {record.id for record in await session.history() if record.tool != "nothing"}
            assert made <= direct.union(late)


def _is_final(entry: CallAnswer) -> bool:
    return not (isinstance(entry.content, dict) and "status" in entry.content)


def _fits(event: Event) -> None:
    """Assert that an entry has the documented fields."""
    encoded = to_json({"kind": event.kind, **event.data})
    SHAPES[event.kind].model_validate_json(encoded, extra="allow")


async def _live(seed: int, store: str, restarts: int) -> None:
    world = World(seed)
    for life in range(restarts + 1):
        async with Runtime(world.tools(), model=world.model(), store=store) as runtime:
            session = await runtime.open(f"s{seed}", "u")
            for _ in range(world.chance.randrange(3, 25)):
                await world.happen(session)
                await world.check(session)
            if life == restarts:
                await world.calm_down(session)
                await world.check(session, calm=True)
                for event in session.board.read(0) if store == "memory://" else ():
                    _fits(event)
            world.running.clear()


@pytest.fixture
def histories(request: pytest.FixtureRequest) -> int:
    return 10_000 if request.config.getoption("--slow") else 300


async def test_c5_random_histories_are_valid_at_every_moment(histories: int) -> None:
    first = random.randrange(1 << 30)
    for seed in range(first, first + histories):
        try:
            await _live(seed, "memory://", 0)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


async def test_c5_random_histories_with_restarts_are_valid_at_every_moment(shared_url: str, histories: int) -> None:
    first = random.randrange(1 << 30)
    for seed in range(first, first + histories // 30):
        try:
            await _live(seed, shared_url, 2)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
