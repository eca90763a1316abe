"""An engine over NATS JetStream.

Names, for the deployment `callboard` (the path of the address gives another name):

- the streams `callboard`, with the subjects `callboard.queue.*`, and `callboard-wake`, with `callboard.wake`;
- in the first, a durable consumer `queue-<name>` for each queue that is served; in the second, `wake` for the gateways;
- the plain subject `callboard.workers`, on which workers answer who they are.

A message is acknowledged when its execution is claimed in the store, and not when that ends: see
`docs/decisions/engine.md`.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError
from pydantic_core import from_json, to_json

from ....background_tasks import BackgroundTasks
from ....execution.engine import Deliver, EngineError, WorkerStatus
from ....storage.owners import QueuedCall
from .address import NatsAddress
from .client_requests import answered
from .pull import Message, Pull, Receive, queued_call
from .stream import differences, outdated_limits, stream_configs
from .wake_sender import WakeSender

log = logging.getLogger("callboard.engine")

SEND_TIMEOUT = 1.0
"""Seconds for which a process that ends sends the calls that are not sent yet."""
WAKE_TIMEOUT = 2.0
"""Seconds in which the server stores a wake; otherwise it is sent again."""
RETRY_DELAY = 1.0
"""Seconds before the next attempt after the server refused or was away."""

_STATUS = tuple(field.name for field in fields(WorkerStatus))


class NatsEngine:
    """Connects the processes of one deployment. See `Engine`."""

    def __init__(self, url: str) -> None:
        self._address = NatsAddress.parse(url)
        self._options = self._address.options()
        name = self.name = self._address.name
        self._streams = stream_configs(name, self._address.replicas)
        self._queue_subject = f"{name}.queue."
        self._wake_subject = f"{name}.wake"
        self._worker_subject = f"{name}.workers"
        self._client: Any = Client()  # its methods are typed in part
        self._connected: Callable[[], None] = lambda: None
        self._connecting: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        """Set while there is a connection, and the stream exists."""
        self._closing = False
        self._pulls: set[Pull] = set()
        self._describe: Callable[[], WorkerStatus] | None = None
        self._unsent: list[tuple[str, bytes]] = []
        """Messages of calls for `_sender`: subject and body."""
        self._sender: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks()
        self._wakes = WakeSender(self._store_wake, self._ready)

    @property
    def connected(self) -> bool:
        return self._ready.is_set()

    # Lifetime

    async def open(self, connected: Callable[[], None]) -> None:
        self._connected = connected
        self._connecting = self._tasks.run(self._connect(), "callboard: nats")

    async def close(self) -> None:
        self._closing = True
        if self._connecting is not None:
            self._connecting.cancel()
        await self._tasks.finish(timeout=SEND_TIMEOUT)
        await self._wakes.close(timeout=WAKE_TIMEOUT)
        if self._client.is_connected:
            with suppress(NatsError, TimeoutError):
                await self._client.flush(timeout=2)
        await _close(self._client)
        await self._tasks.close()

    async def _connect(self) -> None:
        warned = False
        while not self._client.is_connected:
            try:
                await self._client.connect(
                    **self._options,
                    name=f"callboard {os.getpid()}",
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=1,
                    connect_timeout=5,
                    error_cb=self._error,
                    disconnected_cb=self._disconnected,
                    closed_cb=self._closed,
                    reconnected_cb=self._prepare,
                )
            except (NatsError, OSError, TimeoutError) as error:
                if not warned:
                    log.warning("NATS at %s does not answer; waiting for it (%s)", self._address.shown, error)
                    warned = True
                await _close(self._client)
                self._client = Client()
                await asyncio.sleep(RETRY_DELAY)
        if warned:
            log.info("NATS at %s answers now", self._address.shown)
        if self._describe is not None:
            await self._client.subscribe(self._worker_subject, cb=self._answer)
        await self._prepare()

    async def _prepare(self) -> None:
        """Make what this process needs at the server, after each connection."""
        while True:
            try:
                await self._make_streams()
                break
            except (NatsError, TimeoutError) as error:
                log.warning("the streams %s cannot be used yet: %s", self.name, error)
                await asyncio.sleep(RETRY_DELAY)
        self._ready.set()
        for pull in self._pulls:
            pull.restart()
        self._connected()

    async def _make_streams(self) -> None:
        for difference in await self._find_differences(self._client, make=True):
            log.error("%s; see `callboard doctor --engine`", difference)

    async def _find_differences(self, client: Any, *, make: bool) -> list[str]:
        """Return why existing streams cannot be used. With `make`, missing ones are made and others updated."""
        js = client.jetstream()
        found: list[str] = []
        for wanted in self._streams:
            try:
                info = await answered(js.stream_info(wanted.name))
            except NotFoundError:
                if make:
                    await answered(js.add_stream(wanted))
                continue
            wrong = differences(info.config, wanted)
            found += [f"the stream {wanted.name} cannot be used: {each}" for each in wrong]
            if make and not wrong and (outdated := outdated_limits(info.config, wanted)):
                await answered(js.update_stream(info.config.evolve(**outdated)))
        return found

    async def _disconnected(self) -> None:
        if self._ready.is_set() and not self._closing:
            log.warning("the connection to NATS is lost; executions are stored, and sent when it is back")
        self._ready.clear()

    async def _closed(self) -> None:
        """Reconnect with a new client, because most server errors close a client permanently."""
        if self._closing or asyncio.current_task() is self._connecting:
            return
        if self._connecting is not None:
            self._connecting.cancel()
        self._ready.clear()
        self._client = Client()
        self._connecting = self._tasks.run(self._connect(), "callboard: nats")

    async def _error(self, error: Exception) -> None:
        log.debug("NATS: %s", error)

    # Sending

    def submit(self, call: QueuedCall) -> None:
        body = to_json([call.session_id, call.id, call.tool, call.user_id])
        self._unsent.append((self._queue_subject + call.queue, body))
        if self._sender is None or self._sender.done():
            self._sender = self._tasks.run(self._send_calls(), "callboard: nats sender")

    def wake(self, session_id: str | None) -> None:
        self._wakes.add(session_id)

    async def _send_calls(self) -> None:
        """Send calls. Without a connection they are dropped, and the sweep sends them again."""
        while self._unsent:
            unsent, self._unsent = self._unsent, []
            for subject, body in unsent if self.connected else ():
                with suppress(NatsError):
                    await self._client.publish(subject, body)

    async def _store_wake(self, body: bytes) -> None:
        """Send a wake, and wait until the server has stored it."""
        await answered(self._client.jetstream().publish(self._wake_subject, body, timeout=WAKE_TIMEOUT))

    # Receiving

    async def serve(self, queue: str, room: Callable[[], Awaitable[int]], deliver: Deliver) -> None:
        subject = self._queue_subject + queue

        async def receive(messages: Sequence[Msg]) -> None:
            known: list[Message] = []
            for message in messages:
                if (call := queued_call(message, queue)) is None:
                    await message.term()
                else:
                    known.append(Message(call, message))
            if known:
                await deliver(known)

        await self._pull(self.name, f"queue-{queue}", subject, room, receive)

    async def serve_wakes(self, woken: Callable[[str | None], Awaitable[None]]) -> None:
        async def room() -> int:
            return 64

        async def receive(messages: Sequence[Msg]) -> None:
            for message in messages:
                try:
                    for session_id in from_json(message.data):
                        await woken(session_id)
                except Exception as error:
                    log.debug("a session was not woken: %r", error)
                    await message.nak(RETRY_DELAY)
                else:
                    await message.ack()

        await self._pull(f"{self.name}-wake", "wake", self._wake_subject, room, receive)

    async def _pull(
        self,
        stream: str,
        consumer: str,
        subject: str,
        room: Callable[[], Awaitable[int]],
        receive: Receive,
    ) -> None:
        pull = Pull(consumer, subject, stream)
        self._pulls.add(pull)
        try:
            while True:
                await self._ready.wait()
                try:
                    await pull.run(self._client, room, receive)
                except (NatsError, TimeoutError) as error:
                    log.debug("messages of %s: %s", subject, error)
                    await asyncio.sleep(RETRY_DELAY)
        finally:
            self._pulls.discard(pull)
            await pull.end()

    # Looking

    async def waiting(self, queue: str) -> int:
        subject = self._queue_subject + queue
        try:
            info = await answered(self._client.jetstream().stream_info(self.name, subjects_filter=subject))
        except NotFoundError:
            await self._make_streams()
            return 0
        except (NatsError, TimeoutError) as error:
            raise EngineError(f"NATS does not answer: {error}") from error
        counts: dict[str, int] = info.state.subjects or {}
        return counts.get(subject, 0)

    async def problems(self) -> list[str]:
        client: Any = Client()
        try:
            await client.connect(
                **self._options,
                allow_reconnect=False,
                max_reconnect_attempts=1,  # the first connection is attempted 60 times by default, in two minutes
                reconnect_time_wait=0.1,
                connect_timeout=3,
                error_cb=self._error,
            )
            found = await self._find_differences(client, make=False)
            return [f"{each}. Remove the stream, or use another name: nats://host/name" for each in found]
        except (NatsError, OSError, TimeoutError) as error:
            advice = "See that its server runs with JetStream, and that this is its address"
            return [f"NATS at {self._address.shown} does not answer with JetStream: {error}. {advice}"]
        finally:
            await _close(client)

    async def announce(self, describe: Callable[[], WorkerStatus]) -> None:
        self._describe = describe
        if self._client.is_connected:
            await self._client.subscribe(self._worker_subject, cb=self._answer)

    async def _answer(self, message: Msg) -> None:
        if self._describe is not None and message.reply:
            await self._client.publish(message.reply, to_json(asdict(self._describe())))

    async def workers(self, timeout: float = 0.5) -> list[WorkerStatus]:
        found: dict[str, WorkerStatus] = {}
        try:
            inbox = self._client.new_inbox()
            answers = await self._client.subscribe(inbox)
            try:
                await self._client.publish(self._worker_subject, b"", reply=inbox)
                with suppress(TimeoutError):
                    async with asyncio.timeout(timeout):
                        while True:
                            message = await answers.next_msg(timeout=timeout)
                            if message.data and (status := worker_status(message.data)) is not None:
                                found[status.id] = status
            finally:
                await answers.unsubscribe()
        except NatsError as error:
            raise EngineError(f"NATS does not answer: {error}") from error
        if not self.connected:
            raise EngineError("The connection to NATS broke while workers answered.")
        return [found[name] for name in sorted(found)]


def worker_status(answer: bytes) -> WorkerStatus | None:
    """Return the answer of a worker, which may be of a newer version; None if it cannot be read."""
    try:
        described = from_json(answer)
        return WorkerStatus(**{name: described[name] for name in _STATUS if name in described})
    except (TypeError, ValueError):
        log.debug("an answer about workers cannot be read")
        return None


async def _close(client: Any) -> None:
    """Close a client that may have lost its connection, or may never have had one, which it does not expect.

    What it has not sent then raises an error of the transport, on Python 3.13.0 a `TypeError` of asyncio.
    """
    with suppress(NatsError, OSError, AssertionError, TypeError):
        await client.close()
