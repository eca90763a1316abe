"""Callboard's server as `callboard serve` builds it, with driver routes. As a script, it runs on its own core.

It differs from a production server only in the number of readers that a session may have.
"""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial

from starlette.types import ASGIApp
from uvicorn.loops.auto import auto_loop_factory

from bench.server_driver import Driven, announce, payload, pin, routes, session_id
from bench.stores import Commits
from bench.workloads import add
from callboard import Runtime, tool
from callboard.server.app import create_app
from callboard.server.gc_tuning import rare_collections
from callboard.server.identity import IdentityConfig, guard
from callboard.server.identity.config import LOCAL
from callboard.server.streams import Streams
from callboard.server.uvicorn_server import create_server, listen
from callboard.sessions.session import Session
from callboard.telemetry import measure

READERS = 1_000
"""Readers that one session may have."""


class Sessions:
    """Sessions by their numbers."""

    def __init__(self, runtime: Runtime, *, durable: bool) -> None:
        self._runtime = runtime
        self._durable = durable
        self._sessions: list[Session] = []
        self._commits = Commits(runtime.store) if durable else None

    async def open(self, number: int) -> None:
        while len(self._sessions) < number:
            wanted = range(len(self._sessions), min(number, len(self._sessions) + 500))
            self._sessions += await asyncio.gather(*(self._runtime.open(session_id(each), LOCAL) for each in wanted))

    async def post(self, sessions: Sequence[int]) -> None:
        if self._durable:  # each waits for its commit
            await asyncio.gather(*(self._sessions[index].notice(**payload()) for index in sessions))
        else:
            for index in sessions:
                await self._sessions[index].notice(**payload())

    def heads(self) -> dict[str, int]:
        return {session.id: session.board.last_seq for session in self._sessions}

    def commits(self) -> list[float]:
        if self._commits is None:
            return []
        seconds, self._commits.seconds = self._commits.seconds, []
        return seconds


async def _serve(store: str) -> None:
    durable = store != "memory://"
    async with Runtime([tool(add)], store=store) as runtime:
        sessions = Sessions(runtime, durable=durable)
        guarded = partial(_guarded, runtime)
        with measure(runtime) as metrics, listen("127.0.0.1", 0) as made:
            streams = Streams(runtime.clock, per_session=READERS)
            streams.counted = metrics.reading
            app = create_app(runtime, guard=guarded, metrics=metrics.render, streams=streams)
            app.router.routes += routes(Driven(sessions.open, sessions.post, sessions.heads, sessions.commits))
            announce(made.getsockname()[1])
            with rare_collections():
                await create_server(app).serve(sockets=[made])


def _guarded(runtime: Runtime, app: ASGIApp) -> ASGIApp:
    return guard(app, IdentityConfig(), runtime.store, clock=runtime.clock)


if __name__ == "__main__":
    pin(int(sys.argv[1]))
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve(sys.argv[2]))
