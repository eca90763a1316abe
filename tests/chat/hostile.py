"""Conversations in which the model, the user and the tools say the oddest things, over doubles of all providers.

A `World` is one session that lives through several runtimes, each with the model of another provider. Chance decides
what is said, called, answered and interrupted. The doubles refuse what the real services refuse; the world compares
each request with the one before it.
"""

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from callboard import Session, ToolContext, ToolError, tool
from callboard.chat.transcript import Input, LateResult
from callboard.events.problems import EventInvalid
from callboard.sessions.requests import RequestClosed
from callboard.sessions.session import live_session
from callboard.testing.providers import (
    AnthropicDouble,
    Break,
    Call,
    Double,
    Failure,
    GeminiDouble,
    OpenAIChatDouble,
    OpenAIResponsesDouble,
    Request,
    Text,
    Thinking,
    Turn,
)

from .pairing import problems, render
from .scripted import conversation_of, transcript_of

DOUBLES: tuple[type[Double], ...] = (AnthropicDouble, OpenAIChatDouble, OpenAIResponsesDouble, GeminiDouble)
THINKING: dict[type[Double], dict[str, Any]] = {
    AnthropicDouble: {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096},
    OpenAIResponsesDouble: {"openai_reasoning_effort": "low", "openai_reasoning_summary": "auto"},
    GeminiDouble: {"google_thinking_config": {"include_thoughts": True}},
}

BLANK = ("", " ", "\n\n", "\t", "\u200b", "\ufeff\u2060", "\u00ad", "\x00", "\u2028", "\u3164", "\u2800", "\ufe0f")
ODD = (
    *("\u202eevil", "e\u0301\u0301", "\U0001f680", "a" * 3000),
    *("</think>", "[DONE]", "null", '{"a": 1}', '"quoted"', "a\x00b", "\x1b[31m", " leading", "trailing \n"),
)
TEXTS = (*BLANK, *ODD, "Well.", "Done.")
BROKEN = ("ok \ud800", "\udfff")
"""Texts that are not valid Unicode. A provider can send them; a user cannot."""
NAMES = (
    *("", " ", "add\x00", "\x00", "a" * 200, "größe", "functions.add", "\U0001f6e0\ufe0f", "1add", "with space"),
    *("../../etc", "\u202eadd", "\ud800", "task_result", "nothing", "-dash", "add\n", "a:b.c"),
)
IDS = (None, None, "same", "functions.add:0", "", " ", "x" * 100, "a|b", "call_ü", "\x00", "late_x1", "\ud800")
ARGUMENTS = (
    *('{"number":', '{"other":1}', "null", "[]", '"text"', "{}", "", " ", '{"number":NaN}', '{"number":1e999}'),
    *('{"number":"\\ud800"}', '{"number":"\x00"}', '{"number":"\\u0000"}', "[" * 300, '{"a":' * 150, "\ud800"),
)
OBJECTS = ({"number": "\x00"}, {"number": 10**30}, {"": ""}, {"number": {"a": [None]}}, {"number": "1\u200b"})


class World:
    """One session with random events."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.tag = f"session {seed}"
        self.chance = random.Random(seed)
        self.running: list[asyncio.Event] = []
        self.written: list[str] = []
        self.quiet = False
        """Whether the model now answers with one plain sentence only."""
        self.asked = 0
        self.sent: dict[type[Double], list[Any]] = {}
        """The newest request of each provider."""

    # The model

    def answer(self, double: type[Double], request: Request) -> Turn | Failure:
        """Check a request, and answer it."""
        self._compare(double, request)
        self.asked += 1
        chance = self.chance
        if self.quiet:
            return Turn("Quite so.")
        kind = chance.random()
        if kind < 0.08:
            return Failure(chance.choice([400, 429, 500, 529]))
        if kind < 0.12:
            return Turn()
        if kind < 0.16:
            return Turn(Text(chance.choice(TEXTS), Break()))
        thought = [Thinking(chance.choice(["Hm.", "", "\n"]))] if chance.random() < 0.3 else []
        said = [self._text() for _ in range(chance.choice([0, 0, 1, 1, 2]))]
        if self.asked > 15 or chance.random() < 0.3:
            return Turn(*thought, *said, cut_off=chance.random() < 0.1)
        calls = [self._call(double) for _ in range(chance.choice([1, 1, 2, 3]))]
        after = [self._text()] if chance.random() < 0.1 else []
        after += thought if chance.random() < 0.1 else []
        return Turn(*thought, *said, *calls, *after)

    def _compare(self, double: type[Double], request: Request) -> None:
        before, now = self.sent.get(double, []), flattened(double, request.body)
        self.sent[double] = now
        for place, (old, new) in enumerate(zip(before, now, strict=False)):
            if old != new:
                raise Changed(f"part {place} of what was sent to {double.__name__}: {old!r:.600} became {new!r:.600}")
        if len(now) < len(before):
            gone = f"{before[len(now) :]!r:.600}"
            raise Changed(f"{double.__name__} was sent {len(now)} parts after {len(before)}: {gone}")

    def _text(self) -> Text:
        chance = self.chance
        return Text(*(chance.choice((*TEXTS, *BROKEN)) for _ in range(chance.choice([1, 1, 2]))))

    def _call(self, double: type[Double]) -> Call:
        chance = self.chance
        known = ("build", "wait", "add", "fail", "ask", "speak")
        name = chance.choice(known) if chance.random() < 0.7 else chance.choice(NAMES)
        arguments: str | Mapping[str, Any] = {"number": chance.randrange(100)}
        if chance.random() < 0.3:
            arguments = chance.choice(OBJECTS if double is GeminiDouble else (*OBJECTS, *ARGUMENTS))
        return Call(name, arguments, chance.choice(IDS))

    # What happens

    async def happen(self, session: Session) -> None:
        await self.chance.choice(
            [*[self._write] * 3, *[self._finish] * 3, self._answer, self._answer, self._interrupt, *[self._breathe] * 3]
        )(session)

    async def _write(self, session: Session) -> None:
        text = self.chance.choice(TEXTS) if self.written else self.tag
        try:
            await session.post({"kind": "user_input", "text": text})
        except EventInvalid:  # the text is blank; a protocol may still pass it on
            await conversation_of(session).accept_input({"text": text})
        self.written.append(text)

    async def _finish(self, session: Session) -> None:
        if self.running:
            self.running.pop(self.chance.randrange(len(self.running))).set()

    async def _answer(self, session: Session) -> None:
        if requests := await session.requests():
            with suppress(RequestClosed):
                await session.answer(self.chance.choice(requests).id, {"approved": self.chance.random() < 0.7})

    async def _interrupt(self, session: Session) -> None:
        if self.chance.random() < 0.3:
            await session.interrupt()

    async def _breathe(self, session: Session) -> None:
        for _ in range(self.chance.randrange(200)):
            await asyncio.sleep(0)

    async def calm_down(self, session: Session) -> None:
        """End all executions, requests and turns. The session must still accept inputs afterwards."""
        self.quiet = True
        heard = asyncio.Event()
        subscription = session.subscribe(lambda _: heard.set())
        async with asyncio.timeout(120):
            while session.is_processing or session.has_pending_work:
                heard.clear()
                while self.running:
                    await self._finish(session)
                await self._answer(session)
                if not session.is_processing and live_session(session).results:
                    await self._write(session)  # the last turn failed or was stopped
                with suppress(TimeoutError):
                    await asyncio.wait_for(heard.wait(), 0.05)
            subscription.close()
            turn = None
            while turn is None or (turn.error or "").endswith("cannot be reached."):  # an old connection was cut
                turn = await session.say(self.tag)
                self.written.append(self.tag)
        assert turn.status == "finished", turn
        assert turn.text.endswith("Quite so."), turn
        entries = await transcript_of(session)
        assert problems(render(entries)) == []
        assert [entry.text for entry in entries if isinstance(entry, Input)] == self.written
        late = [entry.execution_id for entry in entries if isinstance(entry, LateResult)]
        assert len(set(late)) == len(late)


class Changed(AssertionError):
    """A part that a provider received before is missing or has moved."""


class Stage:
    """All worlds of a batch: gives the doubles their responses and the tools their gates."""

    def __init__(self, worlds: list[World]) -> None:
        self._worlds = {world.tag: world for world in worlds}
        self.failures: list[Exception] = []

    def script(self, double: type[Double]) -> Any:
        def answer(request: Request) -> Turn | Failure:
            try:
                return self._world(double, request).answer(double, request)
            except Exception as error:
                self.failures.append(error)
                raise

        return answer

    def _world(self, double: type[Double], request: Request) -> World:
        for part in flattened(double, request.body):
            for text in _strings(part):
                if text in self._worlds:
                    return self._worlds[text]
        raise AssertionError(f"whose request is this? {request.body!r:.2000}")

    def tools(self) -> list[Any]:
        async def waits(ctx: ToolContext) -> None:
            world = next(world for world in self._worlds.values() if f"s{world.seed}" == ctx.session_id)
            world.running.append(gate := asyncio.Event())
            await gate.wait()

        @tool(mode="background", idempotent=True)
        async def build(ctx: ToolContext, number: Annotated[int, "Any"]) -> str:
            """Build."""
            await waits(ctx)
            return TEXTS[number % len(TEXTS)]

        @tool(idempotent=True)
        async def wait(ctx: ToolContext, number: Annotated[int, "Any"]) -> int:
            """Wait."""
            await waits(ctx)
            return number

        @tool
        async def add(number: Annotated[int, "Any"]) -> int:
            """Add."""
            return number + 1

        @tool(result_limit=20)
        async def speak(number: Annotated[int, "Any"]) -> str:
            """Speak."""
            return TEXTS[number % len(TEXTS)]

        @tool
        async def fail(number: Annotated[int, "Any"]) -> int:
            """Fail."""
            raise ToolError(TEXTS[number % len(TEXTS)], category="permanent")

        @tool(mode="human")
        async def ask(number: Annotated[int, "Any"]) -> int:
            """Ask."""
            return number

        return [build, wait, add, speak, fail, ask]


def flattened(double: type[Double], body: Mapping[str, Any]) -> list[Any]:
    """The parts of a request with their roles, independent of how they are grouped into messages."""
    parts: list[Any] = []
    if double is AnthropicDouble:
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            parts += [(message["role"], _without(block, "cache_control")) for block in blocks]
    elif double is OpenAIChatDouble:
        for message in body["messages"]:
            rest = _without(message, "tool_calls")
            if message.get("content") is not None:
                parts.append(rest)
            parts += [(message["role"], call) for call in message.get("tool_calls", ())]
    elif double is OpenAIResponsesDouble:
        parts += body["input"]
    else:
        parts += [(content["role"], part) for content in body["contents"] for part in content["parts"]]
    return parts


def _without(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != name}


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _strings(each)]
    return [text for each in value for text in _strings(each)] if isinstance(value, list | tuple) else []
