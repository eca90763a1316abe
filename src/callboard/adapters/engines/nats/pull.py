"""Messages of a consumer: requested as many as there is room for, and received as they come."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig
from pydantic_core import from_json, to_json

from ....storage.owners import QueuedCall
from .client_requests import answered

log = logging.getLogger("callboard.engine")

ACK_WAIT = 5.0
"""Seconds after which a message is delivered again whose worker neither claimed nor returned it: it died."""
PULL = 5.0
"""Seconds that a request for messages waits at the server."""
MAX_IN_FLIGHT = 20_000
"""Messages of a queue that may be delivered and not acknowledged."""
_EXPIRED = ("404", "408")
"""The statuses with which the server ends a request for messages without a fault."""

Receive = Callable[[Sequence[Msg]], Awaitable[None]]


class Pull:
    """Requests as many messages of a consumer as this worker has capacity for, and receives them.

    One request is open at a time. It waits at the server, so that an idle worker costs nothing.
    """

    def __init__(self, consumer: str, subject: str, stream: str) -> None:
        self._consumer = consumer
        self._subject = subject
        self._stream = stream
        self._arrived: asyncio.Queue[Msg | None] = asyncio.Queue()
        self._client: Any = None
        """The client of the subscription."""
        self._subscription: Any = None
        self._inbox = ""

    def restart(self) -> None:
        """Request again: the connection is new, and the server has forgotten the last request."""
        self._arrived.put_nowait(None)

    async def end(self) -> None:
        """Return the messages that have arrived and were not received."""
        while not self._arrived.empty():
            message = self._arrived.get_nowait()
            if message is not None and not _status(message):
                with suppress(NatsError):
                    await message.nak()
        if self._subscription is not None:
            with suppress(NatsError):
                await self._subscription.unsubscribe()

    async def run(
        self,
        client: Any,
        room: Callable[[], Awaitable[int]],
        receive: Receive,
    ) -> None:
        """Make the consumer, then request and receive until the server refuses or the connection is lost."""
        config = ConsumerConfig(
            durable_name=self._consumer,
            filter_subject=self._subject,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=ACK_WAIT,
            max_ack_pending=MAX_IN_FLIGHT,
            max_waiting=4_096,
        )
        await answered(client.jetstream().add_consumer(self._stream, config))
        if self._client is not client:
            self._client, self._inbox = client, client.new_inbox()
            self._subscription = await client.subscribe(self._inbox, cb=self._arrived.put)
        while True:
            wanted = await room()
            request = {"batch": wanted, "expires": int(PULL * 1e9)}
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._consumer}"
            await client.publish(subject, to_json(request), self._inbox)
            while wanted > 0:
                messages = await self._next()
                if messages is None:
                    return
                taken = [message for message in messages if not _status(message)]
                if taken:
                    await receive(taken)
                wanted = 0 if len(taken) < len(messages) else wanted - len(taken)

    async def _next(self) -> list[Msg] | None:
        """Return the messages that have arrived; None if a new request must be made over a new consumer."""
        async with asyncio.timeout(PULL + 5.0):
            found = [await self._arrived.get()]
        while not self._arrived.empty():
            found.append(self._arrived.get_nowait())
        messages = [message for message in found if message is not None]
        failed = [status for message in messages if (status := _status(message)) and status not in _EXPIRED]
        if failed or (len(messages) < len(found) and not messages):
            for message in messages:
                if not _status(message):
                    self._arrived.put_nowait(message)
            if failed:
                raise NatsError(f"the server refused a request for messages: {failed[0]}")
            return None
        return messages


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a queue. See `QueueMessage`."""

    call: QueuedCall
    message: Msg

    async def done(self) -> None:
        await self.message.ack()

    async def put_back(self, delay: float = 0.0) -> None:
        await self.message.nak(delay or None)


def queued_call(message: Msg, queue: str) -> QueuedCall | None:
    """Return the execution that a message names; None if it cannot be read."""
    try:
        session_id, execution_id, tool, *user_id = map(str, from_json(message.data))
        return QueuedCall(session_id, execution_id, tool, queue, "".join(user_id))  # earlier versions sent no user
    except (TypeError, ValueError):
        log.warning("a message of the queue %s cannot be read", queue)
        return None


def _status(message: Msg) -> str | None:
    """Return the status of a message of the server about a request; None for a message of the queue."""
    return (message.headers or {}).get("Status") if not message.data else None
