"""Many readers of a server's sessions, and the events that they receive."""

import asyncio

from bench.server_driver import session_id
from bench.server_load import Reader, Tally, connect
from bench.server_process import Server


class Audience:
    """Readers of a server's sessions, each from the first event on."""

    def __init__(self, server: Server, sessions: int, each: int = 1) -> None:
        self.server = server
        self.sessions = sessions
        self.tally = Tally()
        self._each = each
        self.readers: list[Reader] = []

    async def connect(self) -> "Audience":
        """Open the sessions, and connect all readers."""
        await self.server.drive("open", sessions=self.sessions)
        names = [session_id(index) for index in range(self.sessions)] * self._each
        for start in range(0, len(names), 200):
            made = [Reader(self.tally, name) for name in names[start : start + 200]]
            self.readers += await asyncio.gather(*(connect(self.server.port, each) for each in made))
            await self.tally.are_ready(len(self.readers))
        return self

    async def watch(self, rate: float, seconds: float, wave: int = 1) -> float:
        """Produce events, wait until all are read, and return the number of events read per CPU second."""
        tally, cpu, before = self.tally, self.server.cpu(), self.tally.events
        driven = await self.server.drive("produce", sessions=self.sessions, rate=rate, wave=wave, seconds=seconds)
        await tally.have(before + driven["sent"] * self._each)
        return (tally.events - before) / (self.server.cpu() - cpu)

    def waits(self) -> list[float]:
        """Return and clear the delays of the events read so far."""
        waits, self.tally.waits = self.tally.waits, []
        return waits
