"""`callboard serve` as a process that a test can kill and start again at the same address."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

ROOT = Path(__file__).parents[3]
STARTED_WITHIN = 180.0


class ServerProcess:
    """A server with the tools of a module, on a store."""

    def __init__(self, tools: str, store: str) -> None:
        self._tools = tools
        self._store = store
        self._port = 0
        self._process: asyncio.subprocess.Process | None = None
        self._draining: asyncio.Task[bytes] | None = None

    @property
    def address(self) -> str:
        """The address of the server, also after a restart."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Start the server, and return when it is ready."""
        options = ["--port", str(self._port), "--store", self._store, "--tools", self._tools, "--json"]
        self._process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-c", "from callboard.cli import main; main()", "serve", *options],
            cwd=ROOT,
            env={**os.environ, "CALLBOARD_RATE_LIMIT": "0"},
            stderr=asyncio.subprocess.PIPE,
        )
        assert self._process.stderr is not None
        async with asyncio.timeout(STARTED_WITHIN):
            while (line := await self._process.stderr.readline()) != b"":
                if (found := re.search(rb'"address": ?"http://[^"]+:(\d+)"', line)) is not None:
                    self._port = int(found.group(1))
                    break
            assert self._port, "the server did not start"
            self._draining = asyncio.create_task(self._process.stderr.read())
            async with httpx2.AsyncClient(timeout=STARTED_WITHIN) as client:
                assert (await client.get(f"{self.address}/readyz")).status_code == 200

    async def kill(self) -> None:
        """End the server at once, as `kill -9` does."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        if self._draining is not None:
            await self._draining


@asynccontextmanager
async def serving(tools: str, store: str = "memory://") -> AsyncGenerator[ServerProcess]:
    """Run a server with the tools of a module."""
    server = ServerProcess(tools, store)
    try:
        await server.start()
        yield server
    finally:
        await server.kill()
