"""`POST /ag-ui`: the HTTP side of a run. What is no run at all is refused here, the rest is said in the stream."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from weakref import WeakSet

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...jsonrules.value_count import exceeds_values
from ...sessions.session import Session
from .reading import MAX_BODY_BYTES, MAX_VALUES, NotJSON, read_input
from .refused import RunRefused
from .run import Run
from .run_request import read
from .thread import Threads

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_PROBLEMS = 20

TakeBody = Callable[[Request], AbstractAsyncContextManager[bytes]]
"""Gives the body of a request, within `MAX_BODY_BYTES` and `MAX_VALUES`, to be read within its `with`."""


class BodyRefused(RunRefused):
    """The body of a run is too large."""

    code = "too_large"


def endpoint(
    open_session: Callable[[Request, str], Awaitable[Session]],
    runs: WeakSet[Run] | None = None,
    take_body: TakeBody | None = None,
) -> Callable[[Request], Awaitable[Response]]:
    """Answers AG-UI's requests. `open_session` gives the session of a thread, which is the session's id; what it raises
    for one that the caller may not have goes to whoever mounts this. Every run is put into `runs` while it goes on.
    `take_body` reads bodies in place of the reader here, which knows nothing of other requests.
    """
    threads = Threads()
    taking = take_body or _take_body

    async def answer(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _problem(415, "media_type", "The body must be application/json, and its content-type must say so.")
        try:
            async with taking(request) as body:
                run_request = read(await read_input(body))
        except NotJSON as error:
            return _problem(400, "json_invalid", f"The body is not valid JSON: {error}.")
        except ValidationError as error:
            if error.errors(include_url=False, include_context=False, include_input=False)[0]["type"] == "json_invalid":
                return _problem(400, "json_invalid", "The body is not valid JSON.")
            return _problem(422, "run_refused", "The body is not an AG-UI RunAgentInput.", error)
        except BodyRefused as error:
            return _problem(413, error.code, str(error))
        except RunRefused as error:
            return _problem(422, error.code, str(error))
        session = await open_session(request, run_request.thread_id)
        run = Run(session, threads.of(session), run_request)
        if runs is not None:
            runs.add(run)
        return StreamingResponse(run.stream(), media_type="text/event-stream", headers=_HEADERS)

    return answer


@asynccontextmanager
async def _take_body(request: Request) -> AsyncGenerator[bytes]:
    pieces: list[bytes] = []
    held = 0
    async for piece in request.stream():
        held += len(piece)
        if held > MAX_BODY_BYTES:
            raise BodyRefused(f"A run has at most {MAX_BODY_BYTES:,} bytes.")
        pieces.append(piece)
    body = b"".join(pieces)
    if exceeds_values(body, MAX_VALUES):
        raise BodyRefused(f"A run has at most {MAX_VALUES:,} values: keys, texts, numbers, lists and objects.")
    yield body


def _problem(status: int, code: str, detail: str, error: ValidationError | None = None) -> Response:
    document = {"type": f"urn:callboard:problem:{code}", "title": "Not a run", "status": status, "code": code}
    found = [] if error is None else error.errors(include_url=False, include_context=False, include_input=False)
    errors = [{"path": ".".join(map(str, each["loc"])), "message": f"{each['msg']}."} for each in found[:_PROBLEMS]]
    body = to_json({**document, "detail": detail, **({"errors": errors} if errors else {})})
    return Response(body, status, media_type="application/problem+json")
