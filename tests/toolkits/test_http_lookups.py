"""Slow host names of one user delay no other user: look-ups have threads of their own, and each user a share."""

import asyncio
import socket
import threading
from collections.abc import Generator
from typing import Any

import pytest

from callboard import Runtime, ToolError
from callboard.toolkits.http import Guard, fetch_tools
from callboard.toolkits.http.lookups import USER_LOOKUPS, Lookups
from tests.toolkits.test_http_fetch import Server, reply, server

__all__ = ["server"]
pytestmark = pytest.mark.anyio


class NameServer:
    """Answers at once, except names that begin with `slow`: these wait until the test ends or releases them."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.slow: list[str] = []
        self._begun = asyncio.Semaphore(0)
        self._loop: asyncio.AbstractEventLoop | None = None

    def getaddrinfo(self, host: bytes, port: int, *_: Any, **__: Any) -> list[Any]:
        if host.startswith(b"slow"):
            assert self._loop is not None
            self.slow.append(host.decode())
            self._loop.call_soon_threadsafe(self._begun.release)
            assert self.released.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    async def begun(self, count: int) -> None:
        """Wait until so many more slow look-ups have begun."""
        self._loop = asyncio.get_running_loop()
        async with asyncio.timeout(60):
            for _ in range(count):
                await self._begun.acquire()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Generator[NameServer]:
    made = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", made.getaddrinfo)
    yield made
    made.released.set()


def start(lookups: Lookups, host: str, user_id: str | None) -> asyncio.Task[list[str]]:
    return asyncio.create_task(lookups.find(host, 80, user_id))


async def test_h5_slow_names_of_one_user_do_not_delay_fetches_of_another(server: Server, names: NameServer) -> None:
    server.answers["/"] = reply("here")
    async with Runtime(fetch_tools(guard=Guard(allow=["127.0.0.0/8"]))) as runtime:
        mallory, bob = await runtime.open("m", "mallory"), await runtime.open("b", "bob")
        calls = [
            asyncio.ensure_future(mallory.call("http_fetch", {"url": f"http://slow{number}.example/"}))
            for number in range(40)
        ]
        await names.begun(USER_LOOKUPS)
        assert (await bob.call("http_fetch", {"url": server.url(host="good.example")})).status == "succeeded"
        assert len(names.slow) == USER_LOOKUPS
        await mallory.cancel_all()
        names.released.set()
        await asyncio.gather(*calls)


async def test_h5_a_look_up_counts_until_its_thread_ends(names: NameServer) -> None:
    lookups = Lookups(per_user=2, total=3, patience=0)
    given_up = [start(lookups, f"slow{number}", "mallory") for number in range(2)]
    await names.begun(2)
    for task in given_up:
        task.cancel()
    await asyncio.wait(given_up)
    with pytest.raises(ToolError, match="2 other host names are still being looked up") as caught:
        await lookups.find("good", 80, "mallory")
    assert caught.value.category == "rate_limited"
    assert await lookups.find("good", 80, "bob") == ["127.0.0.1"]
    assert await lookups.find("good", 80, None) == ["127.0.0.1"]


async def test_h5_a_look_up_waits_for_an_earlier_one_of_its_user(names: NameServer) -> None:
    lookups = Lookups(per_user=2, total=8, patience=60)
    slow = [start(lookups, f"slow{number}", "mallory") for number in range(2)]
    await names.begun(2)
    next_one = start(lookups, "good", "mallory")
    assert await lookups.find("good", 80, "bob") == ["127.0.0.1"]
    assert not next_one.done()
    names.released.set()
    assert await next_one == ["127.0.0.1"]
    assert {type(each) for each in await asyncio.gather(*slow, return_exceptions=True)} == {socket.gaierror}


async def test_h5_a_scope_of_an_address_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", address) for address in (("fe80::1", 80, 0, 2), ("::1", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert await Lookups().find("local", 80, None) == ["fe80::1%2", "::1"]
