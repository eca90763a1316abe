"""The driver inside a measured server: it opens sessions and posts events at a given rate.

Callboard's server and the bare one have the same driver routes. This module measures nothing but commits.
"""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from callboard.storage.patience import patience

PREFIX = "/bench/"


class Driven(NamedTuple):
    """The interface of a driven server. Sessions are identified by numbers."""

    open: Callable[[int], Awaitable[object]]
    """Open sessions until there are that many."""
    post: Callable[[Sequence[int]], Awaitable[object]]
    """Post an event to each of these sessions."""
    heads: Callable[[], dict[str, int]]
    """Return the sequence number of every session's newest event."""
    commits: Callable[[], list[float]] = list
    """Return and clear the durations of commits so far, in seconds."""


def session_id(index: int) -> str:
    """Return the id of a session."""
    return f"s{index}"


def payload() -> dict[str, Any]:
    """Make the payload of an event, with the time of posting by the system-wide monotonic clock."""
    return {"message": "The price of gas has changed.", "chain": "mainnet", "handed": time.perf_counter()}


def pin(core: int) -> None:
    """Pin this process to one core."""
    os.sched_setaffinity(0, {core})


async def produce(driven: Driven, sessions: int, rate: float, wave: int, seconds: float) -> int:
    """Post at a steady rate, `wave` events at once, to all sessions in turn. Returns their number."""
    started, sent, total = time.perf_counter(), 0, round(rate * seconds / wave) * wave
    async with asyncio.TaskGroup() as tasks:
        while sent < total:
            due = min(total, (int((time.perf_counter() - started) * rate / wave) + 1) * wave)
            if due > sent:
                tasks.create_task(_post(driven, [number % sessions for number in range(sent, due)]))
                sent = due
            await asyncio.sleep(max(0.0, started + sent / rate - time.perf_counter()))
    return sent


async def _post(driven: Driven, sessions: Sequence[int]) -> None:
    await driven.post(sessions)


def routes(driven: Driven) -> list[Route]:
    """Make the routes that drive a server."""

    async def opening(request: Request) -> JSONResponse:
        with patience(None):  # thousands of sessions take longer than a client waits
            await driven.open((await request.json())["sessions"])
        return JSONResponse({})

    async def producing(request: Request) -> JSONResponse:
        with patience(None):
            return JSONResponse({"sent": await produce(driven, **(await request.json()))})

    async def asking(request: Request) -> JSONResponse:
        return JSONResponse({"heads": driven.heads(), "commits": driven.commits()})

    made = {"open": opening, "produce": producing, "ask": asking}
    return [Route(PREFIX + name, handler, methods=["POST"]) for name, handler in made.items()]


def announce(port: int) -> None:
    """Print the port for the parent process."""
    print(json.dumps({"port": port}), flush=True)
