"""Boards with many events, written straight into a store: turns, calls with retries, requests to people, notices."""

import asyncio
import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from callboard.adapters.stores import migrate_store, open_store
from callboard.events.event import encode_event
from callboard.storage.change import Change
from callboard.testing.store_rows import session_row

BoardEvent: TypeAlias = tuple[float, str, dict[str, Any]]
"""The time of an event in seconds after the start of its board, its kind and its data."""

BATCH = 1_000
"""Events per transaction."""
TOOLS = ("check_stock", "build_report", "send_payment", "http_fetch", "convert_time")


def fill_board(folder: Path, session_id: str, count: int) -> None:
    """Write a session with so many events of a conversation into the store of a server that does not run yet."""
    write_board(folder, session_id, list(islice(board_events(), count)))


def write_board(folder: Path, session_id: str, events: list[BoardEvent]) -> None:
    """Write a session with these events into the store of a server that does not run yet. The last one is now."""
    asyncio.run(_write(folder, session_id, events))


async def _write(folder: Path, session_id: str, events: list[BoardEvent]) -> None:
    url = f"sqlite:///{folder / 'callboard.db'}"
    migrate_store(url)
    store = open_store(url)
    await store.open(lambda *_: None)
    try:
        await store.commit([Change(session_id, session=session_row(session_id, user_id="local"))])
        start = time.time() - events[-1][0]
        encoded = [encode_event(kind, start + at, json.dumps(data).encode()) for at, kind, data in events]
        for first in range(0, len(encoded), BATCH):
            await store.commit([Change(session_id, events=encoded[first : first + BATCH])])
    finally:
        await store.close()


def board_events() -> Iterator[BoardEvent]:
    """Yield the events of an endless conversation: their seconds, kinds and data.

    A turn has about 16 events. Every fifth call is retried, every tenth fails, and every ninth asks a person.
    """
    at, call = 0.0, 0

    def event(seconds: float, kind: str, **data: Any) -> BoardEvent:
        nonlocal at
        at += seconds
        return at, kind, data

    turn = 0
    while True:
        turn += 1
        names = {"turn_id": f"t{turn}"}
        pause = 120 if turn % 40 == 0 else 0.5
        yield event(pause, "user_request", request_kind="refresh", payload={"warehouse": turn % 17})
        yield event(0.02, "turn_started", **names)
        for _ in range(2):
            call += 1
            tool = TOOLS[call % len(TOOLS)]
            it = {"execution_id": f"x{call}", "call_id": f"c{call}", "tool": tool}
            yield event(0.05, "tool_started", **it, arguments={"item": f"lamp {call}", "count": call % 9})
            if call % 9 == 0:
                request = {"request_id": f"r{call}"}
                yield event(0.1, "human_request", **it, **request, purpose="approval", payload={"amount": call})
                yield event(3, "human_answer", **request, answer={"approved": True}, answered_by="local")
            yield event(0.03, "tool_executing", **it, attempt=1, maximum=3)
            for step in range(3):
                yield event(0.06, "tool_progress", **it, stage="working", fraction=step / 3, message=f"part {step}")
            if call % 5 == 0:
                error = {"category": "transient", "message": "The warehouse did not answer."}
                yield event(0.2, "tool_retrying", **it, attempt=1, maximum=3, error=error, delay=0.3)
                yield event(0.3, "tool_executing", **it, attempt=2, maximum=3)
            if call % 10 == 0:
                error = {"category": "execution", "message": f"No warehouse {call}."}
                yield event(0.2, "tool_result", **it, status="failed", error=error)
            else:
                yield event(0.2, "tool_result", **it, status="succeeded", value={"item": "lamps", "pieces": call % 50})
        yield event(0.1, "text", **names, text=f"There are {turn} lamps.")
        yield event(0.01, "turn_finished", **names, usage={"requests": 2, "tool_calls": 2})
        if turn % 25 == 0:
            yield event(0.4, "system_notice", message=f"notice {turn}")
