"""A run: one answer to one request of an AG-UI client, which follows the session until the turn ends or waits.

The turn belongs to the session and not to the run. A client that leaves stops nothing; its next run tells it what it
missed. What is sent of messages, calls and results is what the transcript has, so each call has one result, ever.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any, cast

from ...errors import CallboardError, ToolError
from ...events.event import Event
from ...events.kinds import TURN_ENDS, EventKind
from ...sessions.live_session import LiveSession
from ...storage.errors import StoreError
from ...storage.patience import PATIENCE, patience
from . import frames
from .activities import Activities
from .client_messages import ClientMessages
from .follower import Follower, Piece
from .front_end import is_for_page, page_tools
from .interrupts import interrupt
from .lines import Lines, unanswered
from .run_input import RunInput, Taken, call_id_of, is_carried
from .run_request import RunRequest
from .thread import Thread
from .version import Version

log = logging.getLogger("callboard.agui")

HEARTBEAT = 15.0
"""Seconds of silence after which a sign of life is sent, or a run ends for which nothing works any more."""
GLANCE = 1.0
"""The same for a run that only looks on."""

_STOPS = frozenset({EventKind.TURN_FAILED, EventKind.TURN_INTERRUPTED})
_BOUNDS = TURN_ENDS | {EventKind.TEXT, EventKind.TURN_STARTED}
"""Between two of these the model says one message, or none."""
_CHANGES = TURN_ENDS | {EventKind.TEXT, EventKind.TOOL_STARTED, EventKind.TOOL_RESULT}
"""After these the transcript may be longer."""

_UNANSWERED = ("What was said is kept, but no turn began that answers it. Try another run.", "not_answered")
_LEAVING = ("The server is ending. Everything is kept: try another run.", "draining")
_FAULT = ("Something failed here. The server's log says what.", "internal")


class Run:
    """What happens between RUN_STARTED and RUN_FINISHED."""

    def __init__(self, session: LiveSession, thread: Thread, run_request: RunRequest) -> None:
        self._session = session
        self._thread = thread
        self._asked = run_request
        self._version = Version(run_request.protocol_version)
        self._follower = Follower(session)
        self._lines = Lines(session)
        self._copy = ClientMessages(())
        self._activities = Activities()
        self._joined = self._midway = session.is_processing
        """Whether a turn ran already; whether pieces of a message are left out: its beginning may not have been heard,
        or it was sent whole.
        """
        self._taken = Taken(self._follower.cursor)
        self._resumes = False
        """Whether a turn goes on that waited."""
        self._end: Event | None = None
        self._leaving = False
        self._tokens = {"inputTokens": 0, "outputTokens": 0}

    def leave(self) -> None:
        """End the run soon: this process ends, and its turn goes on elsewhere."""
        self._leaving = True
        self._follower.wake()

    async def stream(self) -> AsyncGenerator[bytes]:
        """The frames of the run, as many at once as there are. Whoever leaves after the first has said all he sent."""
        started = self._version.started(self._asked.thread_id, self._asked.run_id)
        try:
            with self._follower.reading(), self._thread.lending(self._session, page_tools(self._asked.tools)):
                self._session.client = self._asked.client
                taking = self._thread.keep(self._take())
                yield started
                started = b""
                await asyncio.wait([taking])  # which leaves it alone where the client is gone
                self._taken, self._copy, sent = taking.result()
                self._resumes = bool(self._taken.running)
                if sent:
                    yield b"".join(sent)
                while not self._is_over:
                    if self._leaving:
                        yield b"".join([*self._copy.spoken(None), frames.run_error(*_LEAVING)])
                        return
                    if not await self._follower.wait(HEARTBEAT if self._taken.anything else GLANCE):
                        if not await self._goes_on():
                            break
                        yield frames.HEARTBEAT
                    elif news := b"".join(await self._news()):
                        yield news
                yield b"".join(await self._finish())
        except CallboardError as error:
            yield b"".join([started, *self._copy.spoken(None), frames.run_error(*_told(error))])
        except Exception:
            log.exception("an AG-UI run failed")
            yield b"".join([started, *self._copy.spoken(None), frames.run_error(*_FAULT)])

    async def _take(self) -> tuple[Taken, ClientMessages, list[bytes]]:
        """Take in what the client brings. Gives what it caused, its copy, and the frames for what the client missed."""
        async with self._thread.starting:
            with patience(PATIENCE):
                return await RunInput(self._session, self._thread, self._asked, self._lines).take()

    @property
    def _is_over(self) -> bool:
        return self._end is not None or not (self._taken.anything or self._joined)

    async def _goes_on(self) -> bool:
        """Whether something runs that ends: a turn, or a call that was answered."""
        if self._session.is_processing:
            return True
        for execution_id in tuple(self._taken.running):
            outcome = await self._session.calls.result(execution_id, timeout=0)
            if outcome.done:
                self._taken.running.discard(execution_id)
            elif await is_carried(self._session, outcome.call_id):
                return True
        return False

    async def _news(self) -> list[bytes]:
        """Frames for what came."""
        sent: list[bytes] = []
        changed = False
        for each in await self._follower.take():
            if isinstance(each, Piece):
                sent += await self._speak(each)
                continue
            if (activity := self._activities.frame(each)) is not None:
                sent.append(activity)
            if each.kind in _BOUNDS:
                sent += self._copy.spoken(each.data.get("text"))
                self._midway = False
            self._notice(each)
            changed |= each.kind in _CHANGES
        if changed and self._copy.speaking is None:
            sent += self._copy.catch_up(await self._lines.news())
        if self._end is not None and self._end.kind not in _STOPS and self._copy.waiting:
            self._end = None  # that turn had ended when the user wrote; the next one is told
        return sent

    async def _speak(self, piece: Piece) -> list[bytes]:
        if self._midway:
            return []
        identity = self._lines.names.response(piece.response)
        if self._copy.speaking == identity:
            return self._copy.speak(identity, piece.text)
        before = [*self._copy.spoken(None), *self._copy.catch_up(await self._lines.news())]
        if not piece.response or self._copy.has_response(identity):  # it was finished meanwhile, and sent with the rest
            self._midway = True
            return before
        return [*before, *self._copy.speak(identity, piece.text)]

    def _notice(self, event: Event) -> None:
        """Remember what an event says about the run."""
        if event.kind == EventKind.TOOL_RESULT:
            self._taken.running.discard(event.data["execution_id"])
        elif event.kind == EventKind.TURN_STARTED:
            self._end = None
        elif event.kind in TURN_ENDS:
            self._count(event)
            if event.seq > self._taken.since:
                self._end = event

    def _count(self, event: Event) -> None:
        """Count what a turn used, without what it had used before this run let it go on."""
        usage: dict[str, Any] = event.data.get("usage") or {}
        turn_id, used = event.data["turn_id"], (int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0)))
        paused = self._thread.paused
        known = paused is not None and paused[0] == turn_id
        before = paused[1:] if paused is not None and known else (0, 0)
        if known or not self._resumes:  # else nobody here knows what it had used
            self._tokens["inputTokens"] += max(0, used[0] - before[0])
            self._tokens["outputTokens"] += max(0, used[1] - before[1])
        if event.kind == EventKind.TURN_PAUSED:
            self._thread.paused = (turn_id, *used)

    async def _finish(self) -> list[bytes]:
        """What the client still lacks, and how the run ends."""
        sent = [*self._copy.spoken(None), *self._copy.catch_up(await self._lines.news())]
        rows = await self._session.requests()
        waiting, calls = unanswered(self._copy.told), {row.id: await call_id_of(self._session, row) for row in rows}
        people = [row for row in rows if not is_for_page(row)]
        run_request = [interrupt(row, calls[row.id], self._session.tools().get(row.tool)) for row in people]
        paused = any(calls[row.id] in waiting for row in people)
        if paused or self._copy.differs:
            sent += self._copy.replace(self._asked.aside)
        if run_request:
            sent.append(frames.state_snapshot(self._state(run_request)))
        if self._end is not None and self._end.kind == EventKind.TURN_FAILED:
            return [*sent, frames.run_error(_why(self._end), "turn_failed")]
        if self._end is None and (self._copy.waiting or self._taken.running):
            return [*sent, frames.run_error(*_UNANSWERED)]
        outcome: dict[str, Any] = {"type": "success"}
        if self._end is not None and self._end.kind == EventKind.TURN_INTERRUPTED:
            outcome = {"type": "cancelled"}
        elif paused:
            outcome = {"type": "interrupt", "interrupts": run_request}
        elif pending := [call_id for call_id in waiting if call_id in {calls[row.id] for row in rows}]:
            outcome["pendingToolCallIds"] = pending
        return [*sent, self._version.finished(self._asked.thread_id, self._asked.run_id, outcome, self._usage())]

    def _state(self, run_request: list[dict[str, Any]]) -> Any:
        """The client's own state, with what people are asked beside it."""
        given: Any = self._asked.state
        mine = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        return {**mine, "callboard": {"openRequests": run_request}}

    def _usage(self) -> list[dict[str, int]]:
        total = sum(self._tokens.values())
        return [{**self._tokens, "totalTokens": total}] if total else []


def _why(event: Event) -> str:
    error: Any = event.data.get("error")
    return str(cast("dict[str, Any]", error)["message"] if isinstance(error, dict) else error)


def _told(error: CallboardError) -> tuple[str, str]:
    """What a client is told about an error, and its code."""
    if isinstance(error, StoreError):
        log.error("an AG-UI run failed: %s", error)
        return "The store cannot be used at the moment. Try again.", error.code
    return (error.message if isinstance(error, ToolError) else str(error)), error.code
