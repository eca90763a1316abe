"""Helpers of the AG-UI tests: tools, a model that can be paused while it streams, a server and a simple client."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx2
from ag_ui.core import Event as AnyEvent
from pydantic import BaseModel, Field, SecretStr, TypeAdapter
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from callboard import Runtime, Session, ToolContext, tool
from callboard.demo.offline import offline_model
from callboard.protocols.agui import endpoint
from callboard.sessions.ids import SessionNotFound
from callboard.testing.providers.server import LoopbackServer

EVENT: TypeAdapter[Any] = TypeAdapter(Annotated[AnyEvent, Field(discriminator="type")])


class Colour(BaseModel):
    """A choice."""

    colour: str = Field(description="Which colour", min_length=2)


class Gates:
    """Events that a test sets."""

    def __init__(self) -> None:
        self._known: dict[str, asyncio.Event] = {}

    def __getitem__(self, name: str) -> asyncio.Event:
        return self._known.setdefault(name, asyncio.Event())


def tools(gates: Gates) -> list[Any]:
    @tool
    async def add(a: Annotated[int, "The first number"], b: Annotated[int, "The second number"]) -> int:
        """Add."""
        return a + b

    @tool
    async def login(name: Annotated[str, "The user"], password: Annotated[SecretStr, "Secret"]) -> str:
        """Log in."""
        return f"hello {name}"

    @tool(mode="background", idempotent=True)
    async def build(ctx: ToolContext, what: Annotated[str, "What to build"]) -> str:
        """Build something slowly."""
        await gates[f"{what} begins"].wait()
        await ctx.progress("half", 0.5, "half of it")
        await ctx.progress("most", 0.9)
        gates[f"{what} told"].set()
        await gates[what].wait()
        return f"built {what}"

    @tool(mode="human", expires=3600)
    async def pay(amount: Annotated[int, "The amount"]) -> str:
        """Pay."""
        return f"paid {amount}"

    @tool(answer=Colour)
    async def choose(why: Annotated[str, "The purpose"]) -> None:
        """Ask for a colour."""

    @tool
    async def slow() -> str:
        """Wait."""
        gates["slow began"].set()
        await gates["slow"].wait()
        return "at last"

    @tool
    async def broken() -> str:
        """Fail."""
        raise RuntimeError("secret path /etc/hidden")

    return [add, login, build, pay, choose, slow, broken]


def held_model(gates: Gates) -> FunctionModel:
    """Return the offline model, which pauses while it streams, or fails, if a message says so."""

    offline = offline_model().stream_function
    assert offline is not None

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        last = "".join(str(getattr(part, "content", "")) for part in messages[-1].parts)
        if last.startswith("speak"):
            yield "One, "
            gates["speaking"].set()
            await gates["speak"].wait()
            yield "two, "
            yield "“three”\n\n."
            return
        if last.startswith("fail"):
            yield "So far. "
            raise RuntimeError("the key sk-123 is wrong")
        async for piece in offline(messages, info):
            yield piece

    return FunctionModel(stream_function=respond, model_name="held")


class Site:
    """A server with the AG-UI route alone, and its user."""

    def __init__(self, runtime: Runtime, gates: Gates) -> None:
        self.runtime = runtime
        self.gates = gates
        self.url = ""
        self.user = "alice"
        self.count = 0

    async def session(self, thread: str = "t") -> Session:
        return await self.runtime.open(thread, user_id=self.user)

    def input(self, *messages: Any, thread: str = "t", **more: Any) -> dict[str, Any]:
        """Return a RunAgentInput. A text is a message of the user; a list is a client's copy of the conversation."""
        self.count += 1
        listed: list[Any] = []
        for each in messages:
            listed += each if isinstance(each, list) else [each]
        made = [
            {"id": f"u{self.count}.{place}", "role": "user", "content": each} if isinstance(each, str) else each
            for place, each in enumerate(listed)
        ]
        version = {"protocolVersion": more.pop("version", "1.0")}
        named = {name: value for name, value in version.items() if value is not None}
        return {"threadId": thread, "runId": f"run{self.count}", "messages": made, **named, **more}

    async def run(self, *messages: Any, **more: Any) -> list[dict[str, Any]]:
        """Return all events of a run."""
        async with self.streaming(self.input(*messages, **more)) as events:
            return [event async for event in events]

    @asynccontextmanager
    async def streaming(self, body: dict[str, Any]) -> AsyncGenerator[AsyncGenerator[dict[str, Any]]]:
        """Yield the events of a run. Leaving early closes the connection."""
        async with (
            asyncio.timeout(90),
            httpx2.AsyncClient(timeout=90, verify=False) as http,
            http.stream("POST", f"{self.url}/ag-ui", json=body) as response,
        ):
            assert response.status_code == 200, await response.aread()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield _events(response)

    async def post(self, body: Any, media_type: str | None = "application/json") -> httpx2.Response:
        """Send a body that may be invalid. Returns the response."""
        async with asyncio.timeout(90), httpx2.AsyncClient(timeout=90, verify=False) as http:
            content = body if isinstance(body, bytes) else json.dumps(body)
            headers = {} if media_type is None else {"content-type": media_type}
            return await http.post(f"{self.url}/ag-ui", content=content, headers=headers)


async def _events(response: httpx2.Response) -> AsyncGenerator[dict[str, Any]]:
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            event = json.loads(line.removeprefix("data: "))
            EVENT.validate_python(event)
            yield event


@asynccontextmanager
async def site(store: str = "memory://", *, talks: bool = True) -> AsyncGenerator[Site]:
    """Start a server on a free port, with the tools and the model above."""
    gates = Gates()
    runtime = Runtime(tools(gates), model=held_model(gates) if talks else None, store=store)
    async with runtime, mounted(runtime, gates) as made:
        yield made


@asynccontextmanager
async def mounted(runtime: Runtime, gates: Gates | None = None) -> AsyncGenerator[Site]:
    """Start a server on a free port for an open runtime."""
    made = Site(runtime, gates or Gates())

    async def open_session(request: Request, session_id: str) -> Session:
        return await runtime.open(session_id, user_id=request.headers.get("x-user", made.user))

    def missing(request: Request, error: Exception) -> Response:
        return JSONResponse({"code": "session_not_found"}, 404)

    routes = [Route("/ag-ui", endpoint(open_session), methods=["POST"])]
    server = LoopbackServer(Starlette(routes=routes, exception_handlers={SessionNotFound: missing}))
    made.url = await server.start()
    try:
        yield made
    finally:
        await server.stop()


class Page:
    """A client that keeps its copy of the conversation as AG-UI specifies."""

    def __init__(self, site: Site | None = None, thread: str = "t") -> None:
        self._site = site
        self._thread = thread
        self.messages: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        """The events of the newest run."""

    async def run(self, *messages: Any, **more: Any) -> dict[str, Any]:
        """Run, and apply all events. Returns the last event."""
        assert self._site is not None
        body = self._site.input([*self.messages], *messages, thread=self._thread, **more)
        self.messages = body["messages"]
        self.events = []
        async with self._site.streaming(body) as events:
            async for event in events:
                self.take(event)
        return self.events[-1]

    def take(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        match event["type"]:
            case "MESSAGES_SNAPSHOT":  # known messages keep their place, others are appended
                new = {message["id"]: message for message in event["messages"]}
                kept = [new.pop(message["id"]) for message in self.messages if message["id"] in new]
                self.messages = [*kept, *new.values()]
            case "TEXT_MESSAGE_START":
                self.messages.append({"id": event["messageId"], "role": event["role"], "content": ""})
            case "TEXT_MESSAGE_CONTENT":
                self._message(event["messageId"])["content"] += event["delta"]
            case "TOOL_CALL_START":
                parent = self._message(event["parentMessageId"])
                call = {"id": event["toolCallId"], "type": "function"}
                parent.setdefault("toolCalls", []).append(
                    {**call, "function": {"name": event["toolCallName"], "arguments": ""}}
                )
            case "TOOL_CALL_ARGS":
                for message in self.messages:
                    for call in message.get("toolCalls", ()):
                        if call["id"] == event["toolCallId"]:
                            call["function"]["arguments"] += event["delta"]
            case "TOOL_CALL_RESULT":
                result = {"id": event["messageId"], "role": "tool", "content": event["content"]}
                self.messages.insert(self._place(event["toolCallId"]), {**result, "toolCallId": event["toolCallId"]})
            case _:
                pass

    def _place(self, call_id: str) -> int:
        """Return the position of a call's result: after the call and the results that follow it."""
        for place, message in enumerate(self.messages):
            if any(call["id"] == call_id for call in message.get("toolCalls", ())):
                place += 1
                while place < len(self.messages) and self.messages[place]["role"] == "tool":
                    place += 1
                return place
        return len(self.messages)

    def _message(self, identity: str) -> dict[str, Any]:
        for message in self.messages:
            if message["id"] == identity:
                return message
        self.messages.append({"id": identity, "role": "assistant"})
        return self.messages[-1]

    @property
    def results(self) -> dict[str, list[str]]:
        """All results of the client, by call id."""
        found: dict[str, list[str]] = {}
        for message in self.messages:
            if message["role"] == "tool":
                found.setdefault(message["toolCallId"], []).append(message["content"])
        return found

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the newest run's events of a kind."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the newest run's events, with consecutive repeats once."""
        found: list[str] = []
        for event in self.events:
            if not found or found[-1] != event["type"]:
                found.append(event["type"])
        return found
