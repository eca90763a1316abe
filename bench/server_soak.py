"""The soak: clients that drop their connections at random and resume from their last event, for a long time.

No event may be lost, duplicated or out of order, however a connection ended, and the server's memory must not grow. As
a script, this is the worker.
"""

import asyncio
import json
import random
import sys
import time

from bench.databases import sqlite_file
from bench.server_driver import session_id
from bench.server_load import Reader, Tally, connect
from bench.server_process import Server, load, ours

SESSIONS, EACH = 50, 8
"""Sessions, and the readers of each."""
RATE = 1_000
"""Events per second, over all sessions."""
STAY, AWAY = 4.0, 2.0
"""Maximum seconds that a reader stays connected and disconnected."""
WARM_UP = 60.0
"""Seconds after which memory is measured: by then every board is full and evicts events."""


class ReconnectingClient:
    """A client that reconnects repeatedly and resumes from its last event."""

    def __init__(self, server: Server, tally: Tally, session: str) -> None:
        self._server = server
        self._tally = tally
        self._session = session
        self.last = 0
        self.connections = 0

    async def run(self, until: float) -> None:
        while (left := until - time.perf_counter()) > 0:
            reader = await self._connect()
            await asyncio.wait([reader.ended], timeout=min(left, random.uniform(0.0, STAY)))
            await self._disconnect(reader)
            await asyncio.sleep(random.uniform(0.0, AWAY))

    async def finish(self, head: int) -> int:
        """Read to the end. Returns the number of missing or surplus events."""
        reader = await self._connect()
        until = time.perf_counter() + 30.0
        while reader.last < head and time.perf_counter() < until:
            await asyncio.wait([reader.ended], timeout=0.05)
        await self._disconnect(reader)
        return abs(head - self.last)

    async def _connect(self) -> Reader:
        self.connections += 1
        return await connect(self._server.port, Reader(self._tally, self._session, self.last))

    async def _disconnect(self, reader: Reader) -> None:
        reader.leave()
        await reader.ended
        self.last = reader.last


async def soak(seconds: float) -> dict[str, list[float]]:
    """Run the clients for some time, and measure the memory before and after."""
    with sqlite_file() as url, ours(url) as server:
        await server.drive("open", sessions=SESSIONS)
        tally = Tally()
        clients = [ReconnectingClient(server, tally, session_id(index % SESSIONS)) for index in range(SESSIONS * EACH)]
        until = time.perf_counter() + seconds
        resident: list[float] = []

        async def sample_memory() -> None:
            warm = time.perf_counter() + min(WARM_UP, seconds / 2)
            while (now := time.perf_counter()) < until:
                await server.drive("ask")  # clears the recorded times on both sides
                tally.waits.clear()
                if now >= warm:
                    resident.append(server.resident())
                await asyncio.sleep(min(5.0, seconds / 20))

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.drive("produce", sessions=SESSIONS, rate=RATE, wave=1, seconds=seconds))
            tasks.create_task(sample_memory())
            for client in clients:
                tasks.create_task(client.run(until))
        heads = (await server.drive("ask"))["heads"]
        missing = await asyncio.gather(
            *(each.finish(heads[session_id(index % SESSIONS)]) for index, each in enumerate(clients))
        )
        tenth = max(1, len(resident) // 10)
        first, last = (sum(part) / tenth for part in (resident[:tenth], resident[-tenth:]))
        return {
            "soak_seconds": [seconds],
            "soak_events": [float(tally.events)],
            "soak_visits": [float(sum(each.connections for each in clients))],
            "soak_wrong": [float(tally.wrong + tally.resyncs + sum(missing))],
            "soak_memory": [last],
            "soak_growth": [last / first],
        }


if __name__ == "__main__":
    load(soak(*json.loads(sys.argv[2])))
