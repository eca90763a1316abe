"""What all doubles share: a server on the loopback interface that keeps every request, refuses what the real service
refuses, and answers the rest by its script.

It is not a model: it never looks at what the conversation is about. Below it are one file per provider for the wire
format and one for the rules, both free of input and output.
"""

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Self

from anyio.from_thread import start_blocking_portal
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .client import Client
from .reply import Exchange, Piece, Reply
from .request import Body, Refusal, Request, Rule, first_refusal
from .script import Answer, Failure, Prompter, Script, Turn
from .server import LoopbackServer
from .signals import Signal

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class Double(ABC):
    """A stand-in for a provider, between the start and the end of its `with` or `async with`.

    With `async with` it runs in the event loop of the test, with `with` in a thread of its own. The rules named in
    `without` are not applied.
    """

    path: ClassVar[str]
    """Where it is asked."""
    rules: ClassVar[tuple[Rule, ...]]
    """What it refuses, in the order in which it looks."""
    media_type: ClassVar[str] = "text/event-stream"

    url: str
    """Its address, while it runs. Nothing that it is told leaves this machine."""

    def __init__(self, script: Script = (), *, without: Collection[str] = ()) -> None:
        unknown = set(without) - {rule.__name__ for rule in self.rules}
        if unknown:
            raise ValueError(f"{type(self).__name__} has no rule {', '.join(sorted(unknown))}.")
        self.exchanges: list[Exchange] = []
        """Every request so far, refused ones too, and what became of it."""
        self._rules: Sequence[Rule] = [rule for rule in self.rules if rule.__name__ not in without]
        self._prompter = Prompter(script)
        self._number = itertools.count(1)
        self._closing = Signal()
        self._app = Starlette(routes=[Route(self.path, self._receive, methods=["POST"])])
        self._server = LoopbackServer(self._app)
        self._client = Client()
        self._stack = ExitStack()

    # What happened

    @property
    def requests(self) -> list[Request]:
        """Every request so far, refused ones too."""
        return [exchange.request for exchange in self.exchanges]

    @property
    def bodies(self) -> list[Body]:
        """What was sent in them."""
        return [exchange.request.body for exchange in self.exchanges]

    @property
    def refusals(self) -> list[Refusal]:
        """What was refused so far."""
        return [exchange.refusal for exchange in self.exchanges if exchange.refusal]

    @property
    def left(self) -> int:
        """How many turns of the script were not asked for yet."""
        return self._prompter.left

    def add(self, *answers: Answer | str) -> None:
        """Let it say more after what it has to say."""
        self._prompter.add(answers)

    # Running

    @abstractmethod
    def model(self, name: str = ..., **options: Any) -> "Model":
        """A model of Pydantic AI that asks this double, through the provider's own SDK."""

    def http_client(self) -> Any:
        """A client for a model of this double. It is closed with the double, where that ends in the same event loop."""
        return self._client.make()

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            await self._client.close()
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
        """A double is an ASGI application too, for a client that needs no network."""
        await self._app(scope, receive, send)

    # Answering

    async def _receive(self, http: HttpRequest) -> Response:
        try:
            body = json.loads(await http.body())
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return self._refused(self.unreadable)
        request = self.read(http, body)  # pyright: ignore[reportUnknownArgumentType]
        exchange = Exchange(request, refusal=first_refusal(request, self._rules))
        self.exchanges.append(exchange)
        if exchange.refusal is not None:
            exchange.ended.set()
            return self._refused(exchange.refusal)
        answer = exchange.answer = self._prompter.answer(request)
        if isinstance(answer, Failure):
            exchange.ended.set()
            return JSONResponse(self.failed(answer), answer.status, {**self._headers(), **(answer.headers or {})})
        turn = exchange.answer = answer.with_ids(lambda: self.call_id(self.number()))
        return self._said(request, turn, exchange)

    def _said(self, request: Request, turn: Turn, exchange: Exchange) -> Response:
        pieces: Iterator[Piece]
        if request.stream:
            pieces, media_type = self.stream(request, turn), self.media_type
        else:
            pieces, media_type = _at_once(turn, lambda: self.message(request, turn)), "application/json"
        return Reply(pieces, exchange, self._closing, media_type=media_type, headers=self._headers())

    def _refused(self, refusal: Refusal) -> Response:
        return JSONResponse(self.refused(refusal), refusal.status, self._headers())

    def _headers(self) -> dict[str, str]:
        return {self.request_id_header: f"req_{self.number():024d}"}

    # What a provider's file says

    request_id_header: ClassVar[str] = "x-request-id"
    unreadable: ClassVar[Refusal] = Refusal("The body of the request is not valid JSON.")

    @abstractmethod
    def read(self, http: HttpRequest, body: Body) -> Request:
        """Understand what was asked."""

    @abstractmethod
    def message(self, request: Request, turn: Turn) -> Body:
        """A turn that is answered as a whole."""

    @abstractmethod
    def stream(self, request: Request, turn: Turn) -> Iterator[Piece]:
        """A turn that is streamed."""

    @abstractmethod
    def refused(self, refusal: Refusal) -> Body:
        """The body of a refusal."""

    @abstractmethod
    def failed(self, failure: Failure) -> Body:
        """The body of a scripted error."""

    @abstractmethod
    def call_id(self, number: int) -> str:
        """An id of a call, of the provider's form."""

    def number(self) -> int:
        """A number that was not given out yet."""
        return next(self._number)


def _at_once(turn: Turn, message: Callable[[], Body]) -> Iterator[Piece]:
    yield from turn.pauses
    yield json.dumps(message()).encode()
