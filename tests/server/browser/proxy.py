"""A TCP proxy between the browser and a server, whose connections can be cut, stalled, and left half-open."""

import socket
import threading
from contextlib import suppress
from typing import Self

CHUNK = 1 << 16
STREAM = b"GET /api/chat/stream"


class Proxy:
    """Forwards connections on the loopback interface to a server, until the end of the `with`."""

    def __init__(self, port: int) -> None:
        self._port = port
        """The port of the server."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._flowing = threading.Event()
        self._flowing.set()
        self._lock = threading.Lock()
        self._pairs: set[_Pair] = set()
        self._is_cut = False
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        self.cut()
        self._flowing.set()

    def cut(self) -> None:
        """Reset all connections, and refuse new ones."""
        with self._lock:
            self._is_cut = True
            for pair in tuple(self._pairs):
                pair.close()

    def stall(self) -> None:
        """Forward nothing, without an end of any connection. New ones are accepted."""
        self._flowing.clear()

    def lose_streams(self) -> None:
        """Discard everything that streams of events carry, without their end. New connections work, idle ones end."""
        with self._lock:
            for pair in tuple(self._pairs):
                if pair.is_stream:
                    pair.is_lost = True
                else:
                    pair.close()

    def mute(self) -> None:
        """Discard everything that the server sends over the present connections. It still receives requests."""
        with self._lock:
            for pair in self._pairs:
                pair.is_mute = True

    def resume(self) -> None:
        """Forward again. What arrived during a stall is not lost."""
        self._is_cut = False
        self._flowing.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        self._flowing.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self._port))
        except OSError:
            near.close()
            return
        pair = _Pair(near, far, self._flowing)
        with self._lock:
            self._pairs.add(pair)
            if self._is_cut:
                pair.close()
        threads = [threading.Thread(target=pair.pump, args=ends, daemon=True) for ends in ((near, far), (far, near))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with self._lock:
            self._pairs.discard(pair)
            pair.close()


class _Pair:
    """The two connections of one forwarded connection."""

    def __init__(self, near: socket.socket, far: socket.socket, flowing: threading.Event) -> None:
        self._ends = near, far
        self._flowing = flowing
        self.is_stream = False
        """Whether the newest request was for a stream of events."""
        self.is_lost = False
        """Whether nothing is forwarded any more."""
        self.is_mute = False
        """Whether nothing is forwarded to the browser any more."""
        for end in self._ends:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def pump(self, source: socket.socket, target: socket.socket) -> None:
        """Forward one direction, until its end. The end of a lost connection is not forwarded."""
        with suppress(OSError):
            while data := source.recv(CHUNK):
                if source is self._ends[0]:
                    self.is_stream = data.startswith(STREAM)
                self._flowing.wait()
                if not self._is_discarded(source):
                    target.sendall(data)
        self._flowing.wait()
        if not self._is_discarded(source):
            with suppress(OSError):
                target.shutdown(socket.SHUT_WR)

    def _is_discarded(self, source: socket.socket) -> bool:
        return self.is_lost or (self.is_mute and source is self._ends[1])

    def close(self) -> None:
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
