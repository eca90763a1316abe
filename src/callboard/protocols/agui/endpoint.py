"""`POST /ag-ui`: the HTTP side of a run. An invalid request gets a problem document, a run reports its own errors."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from weakref import WeakKeyDictionary, WeakSet

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import request_response
from starlette.types import ASGIApp

from ...jsonrules.value_count import exceeds_values
from ...sessions.live_session import LiveSession
from ...sessions.session import Session, live_session
from ..mount import ProtocolHost
from ..problem import Problem, body_too_large, media_type_not_json, too_many_values, violations
from .input_parsing import MAX_BODY_BYTES, MAX_VALUES, read_input
from .run import Run
from .run_refused import RunRefused
from .run_request import RunRequest, parse_run_request
from .thread import Thread

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

OpenSession = Callable[[Request, str], Awaitable[Session]]
ReadBody = Callable[[Request], AbstractAsyncContextManager[bytes]]
"""Reads a body within `MAX_BODY_BYTES` and `MAX_VALUES`, to be processed within the `async with`."""


class AgUiMount:
    """AG-UI as a `ProtocolMount`."""

    path = "/ag-ui"
    methods: Sequence[str] = ("POST",)
    max_body_bytes = MAX_BODY_BYTES
    max_body_values = MAX_VALUES
    request_headers: Sequence[str] = ()
    response_headers: Sequence[str] = ()

    def __init__(self) -> None:
        self._runs: WeakSet[Run] = WeakSet()

    def application(self, host: ProtocolHost) -> ASGIApp:
        return request_response(endpoint(host.open_session, self._runs, host.read_body))

    def running(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def drain(self) -> None:
        for run in tuple(self._runs):
            run.leave()


def endpoint(
    open_session: OpenSession, runs: WeakSet[Run] | None = None, read_body: ReadBody | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """Return a request handler for AG-UI runs.

    `open_session` returns the session of a thread, whose id is the thread's; its errors are left to the application.
    Each run is added to `runs`. `read_body` replaces the default reader, which does not limit concurrent requests.
    """
    threads: WeakKeyDictionary[LiveSession, Thread] = WeakKeyDictionary()
    reading = read_body or _read_body

    async def answer(request: Request) -> Response:
        try:
            run_request = await _run_request(request, reading)
        except Problem as problem:
            return problem.response()
        session = live_session(await open_session(request, run_request.thread_id))
        run = Run(session, threads.setdefault(session, Thread()), run_request)
        if runs is not None:
            runs.add(run)
        return StreamingResponse(run.stream(), media_type="text/event-stream", headers=_HEADERS)

    return answer


async def _run_request(request: Request, reading: ReadBody) -> RunRequest:
    """Read and validate the input of a run. Raises `Problem`."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise media_type_not_json()
    try:
        async with reading(request) as body:
            return parse_run_request(await read_input(body))
    except ValidationError as error:
        detail = "The body is not an AG-UI RunAgentInput."
        raise Problem(422, "run_refused", "Not a run", detail, errors=violations(error)) from None
    except RunRefused as error:
        raise Problem(422, error.code, "Not a run", str(error)) from None


@asynccontextmanager
async def _read_body(request: Request) -> AsyncGenerator[bytes]:
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > MAX_BODY_BYTES:
            raise body_too_large(MAX_BODY_BYTES)
        pieces.append(piece)
    body = b"".join(pieces)
    if exceeds_values(body, MAX_VALUES):
        raise too_many_values(MAX_VALUES)
    yield body
