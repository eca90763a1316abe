"""A run: the response to one request of an AG-UI client, which follows the session until its turn ends or pauses.

The turn belongs to the session and not to the run, so it continues if the client disconnects; the client's next run
catches up. Messages, calls and results come from the transcript, so each call has exactly one result.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any, cast

from ...errors import CallboardError, ToolError
from ...events.event import Event
from ...events.kinds import TURN_ENDS, TURN_STOPS, EventKind
from ...sessions.live_session import LiveSession
from ...storage.errors import StoreError
from ...storage.patience import PATIENCE, patience
from . import frames
from .board_follower import BoardFollower, TextDelta
from .call_activities import CallActivities
from .client_messages import ClientMessages
from .interrupts import interrupt
from .page_tools import is_for_page, page_tools
from .run_input import InputEffects, RunInput, has_owner
from .run_request import RunRequest
from .thread import Thread
from .thread_messages import ThreadReader, unanswered
from .version import Version

log = logging.getLogger("callboard.agui")

HEARTBEAT = 15.0
"""Seconds without an event after which the run sends a heartbeat, or ends if no work continues."""
IDLE_HEARTBEAT = 1.0
"""Seconds, likewise, for a run without new input."""

_EARLY_ENDS = TURN_ENDS - {EventKind.TURN_FINISHED}
_BOUNDS = TURN_STOPS | {EventKind.TEXT, EventKind.TURN_STARTED}
"""Between two of these the model writes at most one message."""
_CHANGES = TURN_STOPS | {EventKind.TEXT, EventKind.TOOL_STARTED, EventKind.TOOL_RESULT}
"""After these the transcript may have new entries."""

_UNANSWERED = ("The input is stored, but no turn started to answer it. Start another run.", "not_answered")
_LEAVING = ("The server is shutting down. All input is stored: start another run.", "draining")
_FAULT = ("The server failed; its log has details.", "internal")


class Run:
    """The events between RUN_STARTED and RUN_FINISHED."""

    def __init__(self, session: LiveSession, thread: Thread, run_request: RunRequest) -> None:
        self._session = session
        self._thread = thread
        self._request = run_request
        self._version = Version(run_request.protocol_version)
        self._follower = BoardFollower(session)
        self._reader = ThreadReader(session)
        self._client = ClientMessages(())
        self._activities = CallActivities()
        self._joined = session.is_processing
        """Whether a turn was running at the start."""
        self._skips_text = session.is_processing
        """Whether to skip deltas of the present message, whose start was missed or which was sent as a whole."""
        self._effects = InputEffects(self._follower.cursor)
        self._resumes = False
        """Whether the input continues a paused turn."""
        self._end: Event | None = None
        self._leaving = False
        self._tokens = {"inputTokens": 0, "outputTokens": 0}

    def leave(self) -> None:
        """End the run soon because this process shuts down; the turn continues elsewhere."""
        self._leaving = True
        self._follower.notify()

    async def stream(self) -> AsyncGenerator[bytes]:
        """Yield the frames of the run. A client may disconnect after the first, and its input is still accepted."""
        started = self._version.started(self._request.thread_id, self._request.run_id)
        try:
            with (
                self._follower.reading(),
                self._thread.lending(self._session, await page_tools(self._session, self._request.tools)),
            ):
                self._session.client = self._request.client
                accepting = self._thread.accepting.start(self._accept_input())
                yield started
                started = b""
                await asyncio.wait([accepting])  # does not cancel it if the client disconnects
                self._effects, self._client = accepting.result()
                self._resumes = bool(self._effects.running)
                if self._client.differs:  # written only now, and not kept: a snapshot may have megabytes
                    yield b"".join(self._client.replace(self._request.client_only))
                while not self._is_over:
                    if self._leaving:
                        yield b"".join([*self._client.end_text(None), frames.run_error(*_LEAVING)])
                        return
                    if not await self._follower.wait(HEARTBEAT if self._effects.anything else IDLE_HEARTBEAT):
                        if not await self._has_work():
                            break
                        yield frames.HEARTBEAT
                    elif news := b"".join(await self._news()):
                        yield news
                yield b"".join(await self._finish())
        except CallboardError as error:
            yield b"".join([started, *self._client.end_text(None), frames.run_error(*_public_error(error))])
        except Exception:
            log.exception("an AG-UI run failed")
            yield b"".join([started, *self._client.end_text(None), frames.run_error(*_FAULT)])

    async def _accept_input(self) -> tuple[InputEffects, ClientMessages]:
        async with self._thread.starting:
            with patience(PATIENCE):
                return await RunInput(self._session, self._thread, self._request, self._reader).accept()

    @property
    def _is_over(self) -> bool:
        return self._end is not None or not (self._effects.anything or self._joined)

    async def _has_work(self) -> bool:
        """Whether a turn runs, or a call that this run answered."""
        if self._session.is_processing:
            return True
        for execution_id in tuple(self._effects.running):
            outcome = await self._session.calls.result(execution_id, timeout=0)
            if outcome.done:
                self._effects.running.discard(execution_id)
            elif await has_owner(self._session, outcome.call_id):
                return True
        return False

    async def _news(self) -> list[bytes]:
        """Return frames for new events and text."""
        sent: list[bytes] = []
        changed = False
        for each in await self._follower.read():
            if isinstance(each, TextDelta):
                sent += await self._add_text(each)
                continue
            if (activity := self._activities.frame(each)) is not None:
                sent.append(activity)
            if each.kind in _BOUNDS:
                sent += self._client.end_text(each.data.get("text"))
                self._skips_text = False
            self._track(each)
            changed |= each.kind in _CHANGES
        if changed and self._client.open_message is None:
            sent += self._client.catch_up(await self._reader.news())
        if self._end is not None and self._end.kind not in _EARLY_ENDS and self._client.has_new_input:
            self._end = None  # that turn ended before the input, which the next turn answers
        return sent

    async def _add_text(self, delta: TextDelta) -> list[bytes]:
        if self._skips_text:
            return []
        identity = self._reader.ids.response(delta.response)
        if self._client.open_message == identity:
            return self._client.add_text(identity, delta.text)
        before = [*self._client.end_text(None), *self._client.catch_up(await self._reader.news())]
        if not delta.response or self._client.has_response(identity):  # complete, and sent from the transcript
            self._skips_text = True
            return before
        return [*before, *self._client.add_text(identity, delta.text)]

    def _track(self, event: Event) -> None:
        """Update the state of the run."""
        if event.kind == EventKind.TOOL_RESULT:
            self._effects.running.discard(event.data["execution_id"])
        elif event.kind == EventKind.TURN_STARTED:
            self._end = None
        elif event.kind in TURN_STOPS:
            self._count(event)
            if event.seq > self._effects.since:
                self._end = event

    def _count(self, event: Event) -> None:
        """Count the tokens of a turn, without those that it had used before this run."""
        usage: dict[str, Any] = event.data.get("usage") or {}
        turn_id, used = event.data["turn_id"], (int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0)))
        paused = self._thread.paused
        known = paused is not None and paused[0] == turn_id
        before = paused[1:] if paused is not None and known else (0, 0)
        if known or not self._resumes:  # else its earlier usage is unknown
            self._tokens["inputTokens"] += max(0, used[0] - before[0])
            self._tokens["outputTokens"] += max(0, used[1] - before[1])
        if event.kind == EventKind.TURN_PAUSED:
            self._thread.paused = (turn_id, *used)

    async def _finish(self) -> list[bytes]:
        """Return frames for what the client lacks, and the end of the run."""
        sent = [*self._client.end_text(None), *self._client.catch_up(await self._reader.news())]
        rows = await self._session.requests()
        waiting = unanswered(self._client.thread)
        calls = await self._session.calls.call_ids([row.execution_id for row in rows])
        people = [row for row in rows if not is_for_page(row)]
        tools = self._session.tools()
        interrupts = [interrupt(row, calls.get(row.execution_id), tools.get(row.tool)) for row in people]
        paused = any(calls.get(row.execution_id) in waiting for row in people)
        if paused or self._client.differs:
            sent += self._client.replace(self._request.client_only)
        if interrupts:
            sent.append(frames.state_snapshot(self._state(interrupts)))
        if self._end is not None and self._end.kind == EventKind.TURN_FAILED:
            return [*sent, frames.run_error(_error_message(self._end), "turn_failed")]
        if self._end is None and (self._client.has_new_input or self._effects.running):
            return [*sent, frames.run_error(*_UNANSWERED)]
        outcome: dict[str, Any] = {"type": "success"}
        if self._end is not None and self._end.kind == EventKind.TURN_INTERRUPTED:
            outcome = {"type": "cancelled"}
        elif paused:
            outcome = {"type": "interrupt", "interrupts": interrupts}
        elif pending := [call_id for call_id in waiting if call_id in calls.values()]:
            outcome["pendingToolCallIds"] = pending
        return [*sent, self._version.finished(self._request.thread_id, self._request.run_id, outcome, self._usage())]

    def _state(self, interrupts: list[dict[str, Any]]) -> Any:
        """Return the client's own state with the open requests."""
        given: Any = self._request.state
        mine = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        return {**mine, "callboard": {"openRequests": interrupts}}

    def _usage(self) -> list[dict[str, int]]:
        total = sum(self._tokens.values())
        return [{**self._tokens, "totalTokens": total}] if total else []


def _error_message(event: Event) -> str:
    error: Any = event.data.get("error")
    return str(cast("dict[str, Any]", error)["message"] if isinstance(error, dict) else error)


def _public_error(error: CallboardError) -> tuple[str, str]:
    """Return the message of an error that is safe for clients, and its code."""
    if isinstance(error, StoreError):
        log.error("an AG-UI run failed: %s", error)
        return "The store cannot be used. Try again.", error.code
    return (error.message if isinstance(error, ToolError) else str(error)), error.code
