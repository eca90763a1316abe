"""Processes of the command line, forked from a server process that has loaded all packages.

Loading takes most of the time of a short command. A forked process has its own session, signals, streams, terminal and
exit code, like any other. With `--slow` (see `fresh`) each process is a new interpreter. This module does not depend on
pytest. As a script, it is the fork server.
"""

import atexit
import fcntl
import gc
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Literal, NoReturn

COMMAND = "from callboard.cli import main; main()"
UNWANTED = ("FORCE_COLOR", "PY_COLORS", "NO_COLOR", "COLUMNS", "LINES", "PYTHONIOENCODING", "GITHUB_ACTIONS")
"""Environment variables that libraries read on import, and that a test may need to change."""
LENGTH, NUMBER = struct.Struct("q"), struct.Struct("i")

PATIENCE = 90.0

fresh = False
"""Whether each process is a new interpreter."""


# In the tests


class Forked:
    """A forked process, with the part of the interface of `subprocess.Popen` that the tests use."""

    def __init__(self, status: int) -> None:
        self._status = os.fdopen(status, "rb", buffering=0)
        """The fork server writes the process id to it, and later the exit code."""
        self.pid: int = NUMBER.unpack(self._status.read(NUMBER.size))[0]
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        if (code := self.returncode) is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = code = int(NUMBER.unpack(self._status.read(NUMBER.size))[0])
            self._status.close()
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    *arguments: str,
    stdin: int,
    stdout: int,
    stderr: int,
    cwd: Path,
    env: Mapping[str, str],
    script: str | None = None,
    terminal: bool = False,
    anew: bool = False,
) -> "Forked | subprocess.Popen[bytes]":
    """Start `callboard` with these arguments, or a script, in a new session.

    `terminal` makes standard error its controlling terminal. `anew` starts a new interpreter, for settings that an
    interpreter reads when it starts.
    """
    if not (fresh or anew):
        job = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "script": script, "terminal": terminal}
        return _fork_server().fork(job, stdin, stdout, stderr)
    code = [script] if script else ["-c", f"{_OWN_TERMINAL if terminal else ''}{COMMAND}"]
    return subprocess.Popen(
        [sys.executable, *code, *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )


def run(*arguments: str, cwd: Path, env: Mapping[str, str]) -> str:
    """Run `callboard` until it exits, which it must do with code 0. Returns its standard output."""
    with open(os.devnull) as nothing, TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        streams = nothing.fileno(), out.fileno(), err.fileno()
        process = start(*arguments, stdin=streams[0], stdout=streams[1], stderr=streams[2], cwd=cwd, env=env)
        code = process.wait(PATIENCE)
        out.seek(0)
        err.seek(0)
        assert code == 0, err.read()
        return out.read()


_OWN_TERMINAL = "import fcntl, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); "


class _ForkServer:
    """The process from which others are forked."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._lock = threading.Lock()
        environment = {name: value for name, value in os.environ.items() if name not in UNWANTED}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**environment, "PYTHONUTF8": "1"},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        atexit.register(self._end)

    def fork(self, job: Mapping[str, Any], *streams: int) -> Forked:
        reading, writing = os.pipe()
        data = json.dumps(job).encode()
        with self._lock:
            socket.send_fds(self._socket, [LENGTH.pack(len(data))], [*streams, writing])
            self._socket.sendall(data)
        os.close(writing)
        return Forked(reading)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


_fork_server = cache(_ForkServer)


# In the fork server


def _load() -> None:
    """Import all packages that a command may need, except the command line, which inspects its streams on import."""
    import callboard

    modules = [each.name for each in pkgutil.walk_packages(callboard.__path__, "callboard.")]
    wanted = [name for name in modules if not name.startswith("callboard.cli") and "migrations" not in name]
    for name in (*wanted, "typer", "rich.live", "rich.progress", "rich.table", "uvicorn.lifespan.on"):
        with suppress(ImportError):  # an extra that is not installed
            import_module(name)
    assert threading.active_count() == 1


def _next(requests: socket.socket) -> dict[str, Any] | None:
    """Fork a process for each requested job. Returns the job in the child, and None here when the requests end."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([requests, woken], [], [])
        if woken in ready:
            os.read(woken, 1_000)
            _report_ended(running)
        if requests not in ready:
            continue
        head, streams, _, _ = socket.recv_fds(requests, LENGTH.size, 4)
        if not head:
            return None
        data = b""
        while len(data) < LENGTH.unpack(head)[0]:
            data += requests.recv(LENGTH.unpack(head)[0] - len(data))
        *streams, status = streams
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            _connect(streams)
            os.write(status, NUMBER.pack(os.getpid()))  # from now on it can receive signals
            for each in (*streams, status, *running.values(), woken, waking):
                os.close(each)
            requests.close()
            return json.loads(data)
        for each in streams:
            os.close(each)
        running[pid] = status


def _report_ended(running: dict[int, int]) -> None:
    """Write the exit codes of processes that have ended."""
    while running:
        pid, wait_status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        status = running.pop(pid)
        with suppress(BrokenPipeError):
            os.write(status, NUMBER.pack(os.waitstatus_to_exitcode(wait_status)))
        os.close(status)


def _connect(streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)


def _text(number: int, mode: Literal["rb", "wb"], errors: str) -> io.TextIOWrapper:
    """Open a standard stream as an interpreter does."""
    unbuffered = mode == "wb" and bool(os.environ.get("PYTHONUNBUFFERED"))
    return io.TextIOWrapper(
        open(number, mode, buffering=0) if unbuffered else open(number, mode),
        encoding="utf-8",
        errors=errors,
        newline=None if mode == "rb" else "\n",
        line_buffering=os.isatty(number) or number == 2,
        write_through=unbuffered,
    )


def _run_job(job: Mapping[str, Any]) -> None:
    """Run the job in this process."""
    if job["terminal"]:
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(job["env"])
    time.tzset()
    os.chdir(job["cwd"])
    sys.stdin = sys.__stdin__ = _text(0, "rb", "surrogateescape")
    sys.stdout = sys.__stdout__ = _text(1, "wb", "surrogateescape")
    sys.stderr = sys.__stderr__ = _text(2, "wb", "backslashreplace")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    invalidate_caches()
    if script := job["script"]:
        sys.argv, sys.path[0] = [script, *job["arguments"]], os.path.dirname(script)
        runpy.run_path(script, run_name="__main__")
    else:
        sys.argv, sys.path[0] = ["-c", *job["arguments"]], ""
        import_module("callboard.cli").main()


def _end(code: object) -> NoReturn:
    """Exit as an interpreter does, step by step, except that loaded modules are not torn down."""
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
    atexit._run_exitfuncs()
    gc.collect()  # so that warnings of finalizers appear
    try:
        sys.stdout.flush()
    except OSError as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 120
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else bool(code))


if __name__ == "__main__":
    _load()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        job = _next(requests)
    if job is not None:
        try:
            _run_job(job)
        except SystemExit as end:
            _end(end.code)
        _end(0)
    os._exit(0)
