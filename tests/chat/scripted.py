"""A model with scripted responses, and the tools that it calls."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from callboard import RetryPolicy, Session, ToolContext, ToolError, tool
from callboard.chat.conversation import Conversation
from callboard.chat.transcript import Entry
from callboard.sessions.session import live_session

from .pairing import problems, render

Step = str | tuple[str, str] | asyncio.Event | Exception | Callable[[], Any]
"""A piece of text, a call (name, arguments), something to wait for, an error, or something to do."""


class Script:
    """The responses of the model, one list of steps per request. After the last, it counts the results it received."""

    def __init__(self, *turns: list[Step], checks: bool = True) -> None:
        self.turns = deque(turns)
        self._checks = checks
        """Whether each request is checked for errors that a provider would refuse."""
        self.requests: list[list[ModelMessage]] = []
        """The messages of every request."""

    def model(self) -> FunctionModel:
        return FunctionModel(stream_function=self._respond, model_name="scripted")

    async def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        assert not self._checks or problems(messages) == []
        self.requests.append(messages)
        if not self.turns:
            yield f"told {len(last_contents(messages))}"
            return
        calls = 0
        for step in self.turns.popleft():
            if isinstance(step, str):
                yield step
            elif isinstance(step, tuple):
                yield {calls: DeltaToolCall(*step, tool_call_id=f"c{len(self.requests)}_{calls}")}
                calls += 1
            elif isinstance(step, asyncio.Event):
                await step.wait()
            elif isinstance(step, Exception):
                raise step
            else:
                step()


def last_contents(messages: list[ModelMessage]) -> list[Any]:
    """The results and inputs in the last message."""
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    return [part.content for part in last.parts if isinstance(part, ToolReturnPart | UserPromptPart)]


def flattened(messages: list[ModelMessage]) -> list[Any]:
    """All parts of a request, without times."""
    names = ("content", "tool_name", "tool_call_id", "args")
    return [
        (message.kind, part.part_kind, *(getattr(part, name, None) for name in names))
        for message in messages
        for part in message.parts
    ]


gates: dict[str, asyncio.Event] = {}


def gate(name: str) -> asyncio.Event:
    return gates.setdefault(name, asyncio.Event())


@tool(mode="background", idempotent=True)
async def build(ctx: ToolContext, what: Annotated[str, "What to build"]) -> str:
    """Build something that takes long."""
    await gate(what).wait()
    return f"built {what}"


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> str:
    """Pay."""
    return f"paid {amount}"


@tool
async def add(a: Annotated[int, "One"], b: Annotated[int, "Other"]) -> int:
    """Add."""
    return a + b


@tool
async def slow(ctx: ToolContext) -> str:
    """Wait."""
    await gate("slow").wait()
    return "at last"


@tool(idempotent=True, retry=RetryPolicy(max_attempts=3, base_delay=3600.0, max_delay=3600.0))
async def flaky() -> str:
    """Fail, so that another try follows much later."""
    raise ToolError("Busy.", category="transient")


@tool(result_limit=100)
async def long_text() -> str:
    """Say much."""
    return "".join(f"{number:04}." for number in range(200))


TOOLS = [build, pay, add, slow, flaky, long_text]


async def until(session: Session, kind: str, count: int = 1) -> list[Any]:
    """Wait for `count` events of a kind, and return them."""
    found: list[Any] = []
    async with asyncio.timeout(90):
        async for event in session.events(0):
            if event.kind == kind:
                found.append(event)
                if len(found) == count:
                    break
    return found


def conversation_of(session: Session) -> Conversation:
    talk = live_session(session).conversation()
    assert isinstance(talk, Conversation)
    return talk


async def transcript_of(session: Session) -> Sequence[Entry]:
    entries, _ = await conversation_of(session).entries()
    return tuple(entries)


async def check(session: Session) -> None:
    """Assert that every prefix of the stored transcript is valid for every provider."""
    entries = await transcript_of(session)
    for length in range(len(entries) + 1):
        assert problems(render(entries[:length])) == []
