"""The cost of a turn does not grow with the length of the conversation (C5)."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, PartStartEvent, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model

import callboard
from callboard import Runtime, Session
from callboard.chat import completion, rendering
from callboard.events.event import Event
from callboard.sessions import conversation_scope
from callboard.sessions.conversation_scope import ConversationScope
from tests.conversations import repeat_turn

from .pairing import problems, render
from .scripted import TOOLS, Script, Step, conversation_of, flattened, gate, transcript_of, until

pytestmark = pytest.mark.anyio

OURS = str(Path(callboard.__file__).parent)


class Counted:
    """Counts the entries that are rendered and read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts = self.lines = 0
        valid_parts, transcript = rendering.valid_parts, ConversationScope.transcript

        def count_parts(parts: Iterable[Any], ids: Any) -> list[Any]:
            given = list(parts)
            self.parts += len(given)
            return valid_parts(given, ids)

        async def count_lines(scope: ConversationScope, after: int, limit: int) -> list[bytes]:
            lines = await transcript(scope, after, limit)
            self.lines += len(lines)
            return lines

        monkeypatch.setattr(rendering, "valid_parts", count_parts)
        monkeypatch.setattr(ConversationScope, "transcript", count_lines)

    def taken(self) -> tuple[int, int]:
        found = self.parts, self.lines
        self.parts = self.lines = 0
        return found


@contextmanager
def own_lines() -> Generator[list[int]]:
    """Count the lines of Callboard's own code that this thread runs. Every pass of a loop counts."""
    count = [0]

    def follow(frame: FrameType, event: str, arg: Any) -> Any:
        count[0] += event == "line"
        return follow

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        return follow if frame.f_code.co_filename.startswith(OURS) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield count
    finally:
        sys.settrace(before)


def script_of(turns: int) -> Script:
    """A model that calls a tool in every turn. Its requests are not checked: that takes longer the longer they are."""
    steps: list[list[Step]] = [[("add", '{"a":1,"b":2}')], ["Three."]]
    return Script(*(steps[number % 2] for number in range(2 * turns)), checks=False)


class Stream:
    """A response of one part, without delay."""

    def __init__(self, part: TextPart | ToolCallPart) -> None:
        self._part = part

    async def __aiter__(self) -> AsyncGenerator[PartStartEvent]:
        yield PartStartEvent(index=0, part=self._part)

    def get(self) -> ModelResponse:
        return ModelResponse(parts=[self._part])


@asynccontextmanager
async def direct_request(model: Model, messages: list[ModelMessage], **_: Any) -> AsyncGenerator[Stream]:
    """Make a request without Pydantic AI, which reads all messages of every request."""
    last_contents = isinstance(messages[-1].parts[0], ToolReturnPart)
    yield Stream(TextPart("Three.") if last_contents else ToolCallPart("add", '{"a":1,"b":2}', f"c{len(messages)}"))


async def cost(session: Session, script: Script) -> float:
    """The median number of lines of Callboard's own code that a turn runs."""
    counts: list[int] = []
    for number in range(7):
        with own_lines() as count:
            turn = await session.say(str(number))
        assert turn.text == "Three."
        counts.append(count[0])
        script.requests.clear()
    return median(counts)


async def test_c5_a_turn_costs_the_same_after_many_turns(
    monkeypatch: pytest.MonkeyPatch, store_url: str, request: pytest.FixtureRequest
) -> None:
    many = 150
    if request.config.getoption("--slow") and store_url.startswith("memory"):  # the next test covers the other stores
        many = 5_000
        monkeypatch.setattr(completion, "model_request_stream", direct_request)
    script = script_of(many + 20)
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        counted = Counted(monkeypatch)
        costs: list[tuple[int, int, int]] = []
        before = 0
        for number in range(many + 10):
            turn = await session.say(str(number))
            assert turn.text == "Three."
            added = conversation_of(session)._history.state.rendering.added
            costs.append((added - before, *counted.taken()))
            before = added
            script.requests.clear()
        assert len(costs[0]) == 3
        assert set(costs[5:10]) == set(costs[-5:])
        await session.messages()
        assert counted.taken()[0] <= 3  # no message is rendered twice
        assert problems(conversation_of(session)._history.state.rendering.messages()) == []


async def test_c5_a_turn_costs_the_same_after_thousands_of_turns_and_a_restart(
    shared_url: str, request: pytest.FixtureRequest
) -> None:
    many = 5_000 if request.config.getoption("--slow") else 500
    script = script_of(40)
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        for session_id in ("long", "short"):
            session = await runtime.open(session_id, "u")
            assert (await session.say("0")).text == "Three."
    for session_id, turns in (("long", many), ("short", 10)):
        await repeat_turn(shared_url, session_id, turns)
    async with Runtime(TOOLS, model=script.model(), store=shared_url) as runtime:
        costs: dict[str, float] = {}
        for session_id, turns in (("long", many), ("short", 10)):
            session = await runtime.open(session_id, "u")
            await session.say("again")  # reads the transcript
            costs[session_id] = await cost(session, script)
            last_contents = conversation_of(session)._history.state.rendering.messages()
            assert len(last_contents) == 4 * (turns + 8)
            assert problems(last_contents) == []
        assert costs["long"] < 1.05 * costs["short"]


async def test_c5_a_long_transcript_is_read_in_slices(monkeypatch: pytest.MonkeyPatch, shared_url: str) -> None:
    async with Runtime(TOOLS, model=script_of(1).model(), store=shared_url) as runtime:
        await (await runtime.open("s", "u")).say("0")
    await repeat_turn(shared_url, "s", 300)
    counted = Counted(monkeypatch)
    async with Runtime(TOOLS, model=script_of(1).model(), store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        talk = conversation_of(session)
        reading = asyncio.ensure_future(talk.entries())
        rendered, seen = [0], set[int]()
        while not reading.done():
            await asyncio.sleep(0)
            rendered.append(counted.parts)
            seen.add(len(talk._history.state.entries))
        entries, responses = await reading
        assert (len(entries), responses) == (1_500, 600)
        assert rendered[-1] >= 599
        assert max(after - before for before, after in pairwise(rendered)) <= 50
        assert seen <= {0, 1_500}, "a partly read transcript is never visible"
        assert flattened(talk._history.state.rendering.messages()) == flattened(render(entries))


async def test_c5_entries_of_another_process_are_read_in_slices_too(shared_url: str) -> None:
    one, other = script_of(1), script_of(140)
    async with (
        Runtime(TOOLS, model=one.model(), store=shared_url) as here,
        Runtime(TOOLS, model=other.model(), store=shared_url) as there,
    ):
        mine, theirs = await here.open("s", "u"), await there.open("s", "u")
        await mine.say("0")
        known = conversation_of(mine)._history
        for number in range(30):
            await theirs.say(str(number))
        before = known.state.rendering
        last_contents = before.messages()
        await conversation_of(mine).entries()
        assert before.messages() == last_contents, "the earlier rendering is unchanged"
        assert known.state.rendering is not before
        assert known.state.entries == list(await transcript_of(theirs))
        assert flattened(known.state.rendering.messages()) == flattened(render(known.state.entries))


async def test_h1_events_since_the_last_turn_are_searched_once_for_waiting_inputs(
    monkeypatch: pytest.MonkeyPatch, store_url: str
) -> None:
    searched = 0
    is_for_model = conversation_scope._is_for_model

    def count(event: Event) -> bool:
        nonlocal searched
        searched += 1
        return is_for_model(event)

    steps: list[Step] = [gate("never")]
    async with Runtime(TOOLS, model=Script(["Hello."], steps).model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Hi.")
        for number in range(300):
            await session.notice(f"note {number}")
        monkeypatch.setattr(conversation_scope, "_is_for_model", count)
        assert (await session.latest_messages()).messages[-1]["text"] == "Hello."
        searched = 0
        for _ in range(3):
            assert (await session.latest_messages()).messages[-1]["text"] == "Hello."
        assert searched == 0
        await session.post({"kind": "user_input", "text": "One."})
        await until(session, "turn_started", 2)
        searched = 0
        await session.post({"kind": "user_input", "text": "Two."})  # the turn does not read it
        for _ in range(2):
            assert [each["text"] for each in (await session.latest_messages()).messages[-2:]] == ["One.", "Two."]
        assert searched < 100
        assert [each["text"] for each in (await conversation_of(session).messages(waiting=True))[-1:]] == ["Two."]
        await session.interrupt()
