"""A relay in front of a PostgreSQL server, which can cut a connection before or after a given message."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Literal
from urllib.parse import parse_qs, urlsplit

When = Literal["before", "after"]
"""Cut before the server receives the message, or after it carried it out and before the client gets the answer."""


class Link:
    """One connection through the relay."""

    def __init__(self, relay: "Relay", client: socket.socket, server: socket.socket) -> None:
        self._relay = relay
        self._client = client
        self._server = server
        self._mute = False
        self._answered = threading.Event()
        self._threads = [threading.Thread(target=target) for target in (self._ask, self._answer)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._shut()
        for thread in self._threads:
            thread.join()
        self._client.close()
        self._server.close()

    def _ask(self) -> None:
        with suppress(OSError):
            while data := self._client.recv(1 << 16):
                when = self._relay.due(data)
                if when == "before":
                    break
                if when == "after":
                    self._mute = True
                self._server.sendall(data)
                if when == "after":
                    self._answered.wait(90)
                    break
        self._shut()

    def _answer(self) -> None:
        with suppress(OSError):
            while data := self._server.recv(1 << 16):
                if self._mute:
                    self._answered.set()
                else:
                    self._client.sendall(data)
        self._answered.set()
        self._shut()

    def _shut(self) -> None:
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Relay:
    """Forwards everything, except that it cuts connections that send given texts."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        options = parse_qs(parts.query)
        host = options.get("host", [parts.hostname or "localhost"])[0]
        port = int(options.get("port", [str(parts.port or 5432)])[0])
        self._target: str | tuple[str, int] = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        account, at, _ = parts.netloc.rpartition("@")
        self.url = parts._replace(
            netloc=f"{account}{at}127.0.0.1:{self._listening.getsockname()[1]}", query=""
        ).geturl()
        """The address of the server through the relay."""
        self._cuts: list[tuple[bytes, When]] = []
        self._links: list[Link] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def cut(self, text: bytes, when: When) -> None:
        """Cut the next connection that sends this text, after all cuts that were requested before."""
        with self._lock:
            self._cuts.append((text, when))

    def forget(self) -> None:
        """Cancel all requested cuts."""
        with self._lock:
            self._cuts.clear()

    @property
    def cuts_left(self) -> int:
        return len(self._cuts)

    def due(self, data: bytes) -> When | None:
        with self._lock:
            if self._cuts and self._cuts[0][0] in data:
                return self._cuts.pop(0)[1]
        return None

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        for link in self._links:
            link.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX if isinstance(self._target, str) else socket.AF_INET)
                server.connect(self._target)
                self._links.append(Link(self, client, server))


@contextmanager
def relayed(url: str) -> Generator[Relay]:
    relay = Relay(url)
    try:
        yield relay
    finally:
        relay.close()
