"""`POST /ag-ui`: the HTTP side of a run. What is no run at all is refused here, the rest is said in the stream."""

from collections.abc import Awaitable, Callable
from weakref import WeakSet

from ag_ui.core import RunAgentInput
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...sessions.session import Session
from .asked import read
from .refused import RunRefused
from .run import Run
from .thread import Threads

MAX_BODY_BYTES = 8 * 1024 * 1024
"""How large a request may be. A client sends its copy of the whole conversation every time."""

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_PROBLEMS = 20


def endpoint(
    open_session: Callable[[Request, str], Awaitable[Session]], runs: WeakSet[Run] | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """Answers AG-UI's requests. `open_session` gives the session of a thread, which is the session's id; what it raises
    for one that the caller may not have goes to whoever mounts this. Every run is put into `runs` while it goes on.
    """
    threads = Threads()

    async def answer(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _problem(415, "media_type", "The body must be application/json, and its content-type must say so.")
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return _problem(413, "too_large", f"A run has at most {MAX_BODY_BYTES:,} bytes.")
        try:
            asked = read(RunAgentInput.model_validate_json(body))
        except ValidationError as error:
            if error.errors(include_url=False, include_context=False, include_input=False)[0]["type"] == "json_invalid":
                return _problem(400, "json_invalid", "The body is not valid JSON.")
            return _problem(422, "run_refused", "The body is not an AG-UI RunAgentInput.", error)
        except RunRefused as error:
            return _problem(422, error.code, str(error))
        session = await open_session(request, asked.thread_id)
        run = Run(session, threads.of(session), asked)
        if runs is not None:
            runs.add(run)
        return StreamingResponse(run.stream(), media_type="text/event-stream", headers=_HEADERS)

    return answer


def _problem(status: int, code: str, detail: str, error: ValidationError | None = None) -> Response:
    document = {"type": f"urn:callboard:problem:{code}", "title": "Not a run", "status": status, "code": code}
    found = [] if error is None else error.errors(include_url=False, include_context=False, include_input=False)
    errors = [{"path": ".".join(map(str, each["loc"])), "message": f"{each['msg']}."} for each in found[:_PROBLEMS]]
    body = to_json({**document, "detail": detail, **({"errors": errors} if errors else {})})
    return Response(body, status, media_type="application/problem+json")
