"""The base class of all doubles: a server on the loopback interface that records every request, refuses invalid ones
like the real service, and answers the others by a script.

It is not a model and ignores the content of the conversation. Subclasses define the wire format and the rules of a
provider, without I/O.
"""

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Self

from anyio.from_thread import start_blocking_portal
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .client import import_optional
from .reply import Chunk, Exchange, Reply
from .request import Body, Refusal, Request, Rule, first_refusal
from .script import Answer, Failure, Script, Turn
from .server import LoopbackServer
from .synchronization import Signal

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class Double(ABC):
    """A test double of a provider, running inside `with` or `async with`.

    With `async with` it runs in the event loop of the test, with `with` in a thread. `without` names rules to skip.
    """

    path: ClassVar[str]
    """The path of its endpoint."""
    rules: ClassVar[tuple[Rule, ...]]
    """The rules that refuse requests, in the order in which they are applied."""
    url: str
    """The base URL while it runs, on the loopback interface."""

    def __init__(self, script: Script = (), *, without: Collection[str] = ()) -> None:
        unknown = set(without) - {rule.__name__ for rule in self.rules}
        if unknown:
            raise ValueError(f"{type(self).__name__} has no rule {', '.join(sorted(unknown))}.")
        self.exchanges: list[Exchange] = []
        """All requests so far with their outcomes, including refused ones."""
        self._rules: Sequence[Rule] = [rule for rule in self.rules if rule.__name__ not in without]
        self._script = script if callable(script) else None
        self._answers: list[Answer | str] = [] if callable(script) else list(script)
        self._number = itertools.count(1)
        self._closing = Signal()
        self._app = Starlette(routes=[Route(self.path, self._receive, methods=["POST"])])
        self._server = LoopbackServer(self._app)
        self._clients: list[Any] = []
        self._stack = ExitStack()

    # Inspection

    @property
    def requests(self) -> list[Request]:
        """All requests so far, including refused ones."""
        return [exchange.request for exchange in self.exchanges]

    @property
    def bodies(self) -> list[Body]:
        """The bodies of all requests so far."""
        return [exchange.request.body for exchange in self.exchanges]

    @property
    def refusals(self) -> list[Refusal]:
        """All refusals so far."""
        return [exchange.refusal for exchange in self.exchanges if exchange.refusal]

    @property
    def left(self) -> int:
        """The number of unused answers of a script that is a list."""
        return len(self._answers)

    def add(self, *answers: Answer | str) -> None:
        """Append answers to the script."""
        self._answers.extend(answers)

    # Running

    @abstractmethod
    def model(self, name: str = ..., **options: Any) -> "Model":
        """Make a Pydantic AI model that uses this double through the provider's own SDK."""

    def http_client(self) -> Any:
        """Make an HTTP client for a model. It is closed with the double if both use the same event loop.

        It ignores environment variables, so that no request goes through a proxy.
        """
        # Connections to a double are not encrypted, and loading certificates would take a tenth of a second.
        client = import_optional("httpx2").AsyncClient(trust_env=False, verify=False, timeout=60)
        self._clients.append(client)
        return client

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            while self._clients:
                await self._clients.pop().aclose()
        finally:
            await self._stop()

    def __enter__(self) -> Self:
        portal = self._stack.enter_context(start_blocking_portal())
        portal.call(self._start)
        self._stack.callback(portal.call, self._stop)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    async def _start(self) -> None:
        self.url = await self._server.start()

    async def _stop(self) -> None:
        self._closing.set()
        await self._server.stop()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request as an ASGI application, for a client that needs no network."""
        await self._app(scope, receive, send)

    # Answering

    async def _receive(self, http: HttpRequest) -> Response:
        try:
            body = json.loads(await http.body())
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return self._refused(Refusal("The body of the request is not valid JSON."))
        request = self.read(http, body)  # pyright: ignore[reportUnknownArgumentType]
        exchange = Exchange(request, refusal=first_refusal(request, self._rules))
        self.exchanges.append(exchange)
        if exchange.refusal is not None:
            exchange.ended.set()
            return self._refused(exchange.refusal)
        answer = exchange.answer = self._next_answer(request)
        if isinstance(answer, Failure):
            exchange.ended.set()
            return self._refused(Refusal(answer.message, answer.status, answer.kind), answer.headers)
        turn = exchange.answer = answer.with_ids(lambda: self.call_id.format(self.number()))
        chunks = self.stream(request, turn) if request.stream else self._whole(request, turn)
        media_type = "text/event-stream" if request.stream else "application/json"
        return Reply(chunks, exchange, self._closing, media_type=media_type, headers=self._headers())

    def _next_answer(self, request: Request) -> Answer:
        if self._script is not None:
            answer = self._script(request)
        elif self._answers:
            answer = self._answers.pop(0)
        else:
            answer = Failure(500, "The script of the double has no answer left for this request.")
        return Turn(answer) if isinstance(answer, str) else answer

    def _whole(self, request: Request, turn: Turn) -> Iterator[Chunk]:
        yield from turn.pauses
        yield json.dumps(self.message(request, turn)).encode()

    def _refused(self, refusal: Refusal, headers: Mapping[str, str] | None = None) -> Response:
        return JSONResponse(self.error(refusal), refusal.status, {**self._headers(), **(headers or {})})

    def _headers(self) -> dict[str, str]:
        return {self.request_id_header: f"req_{self.number():024d}"}

    # Defined by the subclass of each provider

    request_id_header: ClassVar[str] = "x-request-id"
    call_id: ClassVar[str] = "call_{:024d}"
    """The format of the ids of calls, for a unique number."""

    def read(self, http: HttpRequest, body: Body) -> Request:
        """Parse a request."""
        stream = body.get("stream") is True
        return Request(str(body.get("model", "")), body, stream, dict(http.headers), http.url.path)

    @abstractmethod
    def message(self, request: Request, turn: Turn) -> Body:
        """Make the body of a response that is not streamed."""

    @abstractmethod
    def stream(self, request: Request, turn: Turn) -> Iterator[Chunk]:
        """Make the chunks of a streamed response."""

    @abstractmethod
    def error(self, refusal: Refusal) -> Body:
        """Make the body of a refusal, or of a scripted failure."""

    def number(self) -> int:
        """Return a new unique number."""
        return next(self._number)
