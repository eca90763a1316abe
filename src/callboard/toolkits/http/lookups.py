"""Name look-ups in threads of their own, a few at once for each user.

The system's resolver blocks a thread for as long as a name server is silent, and cannot be stopped. A look-up counts
until its thread ends, also after its caller has gone, so that slow names of one user leave threads for other users.
"""

import asyncio
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

from callboard import ToolError

USER_LOOKUPS = 4
MAX_LOOKUPS = 64
PATIENCE = 5.0
"""Seconds that a look-up waits for an earlier one of its user; less than the time to connect."""


class Lookups:
    """Looks up host names with the system's resolver. Any thread and event loop may use it."""

    def __init__(self, *, per_user: int = USER_LOOKUPS, total: int = MAX_LOOKUPS, patience: float = PATIENCE) -> None:
        self._per_user = per_user
        self._total = total
        self._patience = patience
        self._threads = ThreadPoolExecutor(total, thread_name_prefix="callboard-lookup")
        self._free: WeakValueDictionary[tuple[object, str | None], asyncio.Semaphore] = WeakValueDictionary()
        """The look-ups that each user may still begin, by event loop and user, while there are any."""

    async def find(self, host: str, port: int, user_id: str | None) -> list[str]:
        """Return the addresses of a host as text. Raises `socket.gaierror`.

        Calls without a user have the limit of all. Cancellation returns at once; the thread continues and still counts.
        """
        loop = asyncio.get_running_loop()
        most = self._total if user_id is None else self._per_user
        free = self._free.setdefault((loop, user_id), asyncio.Semaphore(most))
        try:
            async with asyncio.timeout(self._patience):
                await free.acquire()
        except TimeoutError:
            raise ToolError(
                f"{host!r} was not looked up: {most} other host names are still being looked up. Try again later.",
                category="rate_limited",
            ) from None

        def release(_: Future[Any]) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(free.release)

        # As bytes, since the name is already in its ASCII form and must not be encoded again.
        lookup = self._threads.submit(socket.getaddrinfo, host.encode("ascii"), port, type=socket.SOCK_STREAM)
        lookup.add_done_callback(release)
        return [_text(entry[4]) for entry in await asyncio.wrap_future(lookup)]


def _text(address: tuple[Any, ...]) -> str:
    """The address of a socket address; in IPv6 with its scope, if it has one."""
    host, scope = str(address[0]), address[3] if len(address) == 4 else 0
    return f"{host}%{scope}" if scope and "%" not in host else host
