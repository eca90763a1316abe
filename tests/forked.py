"""Processes of the command line, forked off one that has loaded everything: most of a short command's life is loading.

Knows nothing of pytest. Apart from that a forked process is as real as another: its own session, signals, streams,
terminal, exit code. With `--slow` (see `fresh`) each is a new interpreter. As a script, this is what they come from.
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

PATIENCE = 60.0

fresh = False
"""Whether each process is a new interpreter."""


# Where they are wanted


class Forked:
    """A process, with as much of `subprocess.Popen` as the tests use."""

    def __init__(self, said: int) -> None:
        self._said = os.fdopen(said, "rb", buffering=0)
        self.pid: int = NUMBER.unpack(self._said.read(NUMBER.size))[0]
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        if (code := self.returncode) is None:
            if not select.select([self._said], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = code = int(NUMBER.unpack(self._said.read(NUMBER.size))[0])
            self._said.close()
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
    """Start `callboard` with these arguments, or a script, in a session of its own.

    `terminal` makes standard error its terminal. `anew` wants a new interpreter, for what is decided when one starts.
    """
    if not (fresh or anew):
        job = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "script": script, "terminal": terminal}
        return _nursery().fork(job, stdin, stdout, stderr)
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
    """Run `callboard` to its end, which must be a good one. Returns what it writes to standard output."""
    with open(os.devnull) as nothing, TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        streams = nothing.fileno(), out.fileno(), err.fileno()
        process = start(*arguments, stdin=streams[0], stdout=streams[1], stderr=streams[2], cwd=cwd, env=env)
        code = process.wait(PATIENCE)
        out.seek(0)
        err.seek(0)
        assert code == 0, err.read()
        return out.read()


_OWN_TERMINAL = "import fcntl, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); "


class _Nursery:
    """The process from which others are forked."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._asking = threading.Lock()
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
        said, saying = os.pipe()
        data = json.dumps(job).encode()
        with self._asking:
            socket.send_fds(self._socket, [LENGTH.pack(len(data))], [*streams, saying])
            self._socket.sendall(data)
        os.close(saying)
        return Forked(said)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


_nursery = cache(_Nursery)


# Where they come from


def _load() -> None:
    """Import all that a command may need, but nothing of the command line: it looks at its streams when loaded."""
    import callboard

    modules = [each.name for each in pkgutil.walk_packages(callboard.__path__, "callboard.")]
    wanted = [name for name in modules if not name.startswith("callboard.cli") and "migrations" not in name]
    for name in (*wanted, "typer", "rich.live", "rich.progress", "rich.table", "uvicorn.lifespan.on"):
        with suppress(ImportError):  # an extra that is not installed
            import_module(name)
    assert threading.active_count() == 1


def _next(wanted: socket.socket) -> dict[str, Any] | None:
    """Fork a process for each requested job. Returns in each child with its job, and here when the requests end."""
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([wanted, told], [], [])
        if told in ready:
            os.read(told, 1_000)
            _say_who_ended(running)
        if wanted not in ready:
            continue
        head, streams, _, _ = socket.recv_fds(wanted, LENGTH.size, 4)
        if not head:
            return None
        data = b""
        while len(data) < LENGTH.unpack(head)[0]:
            data += wanted.recv(LENGTH.unpack(head)[0] - len(data))
        *streams, saying = streams
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            _connect(streams)
            os.write(saying, NUMBER.pack(os.getpid()))  # from now on it can be dealt with
            for each in (*streams, saying, *running.values(), told, telling):
                os.close(each)
            wanted.close()
            return json.loads(data)
        for each in streams:
            os.close(each)
        running[pid] = saying


def _say_who_ended(running: dict[int, int]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        saying = running.pop(pid)
        with suppress(BrokenPipeError):
            os.write(saying, NUMBER.pack(os.waitstatus_to_exitcode(status)))
        os.close(saying)


def _connect(streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)


def _text(number: int, mode: Literal["rb", "wb"], errors: str) -> io.TextIOWrapper:
    """A standard stream, as an interpreter makes it."""
    at_once = mode == "wb" and bool(os.environ.get("PYTHONUNBUFFERED"))
    return io.TextIOWrapper(
        open(number, mode, buffering=0) if at_once else open(number, mode),
        encoding="utf-8",
        errors=errors,
        newline=None if mode == "rb" else "\n",
        line_buffering=os.isatty(number) or number == 2,
        write_through=at_once,
    )


def _become(job: Mapping[str, Any]) -> None:
    """Be the process that is wanted, to its end."""
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
    """End as an interpreter does, step by step, except that it does not take everything apart that was loaded."""
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
    atexit._run_exitfuncs()
    gc.collect()  # what is noticed only now is complained of now
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
    with socket.socket(fileno=int(sys.argv[1])) as asking:
        job = _next(asking)
    if job is not None:
        try:
            _become(job)
        except SystemExit as end:
            _end(end.code)
        _end(0)
    os._exit(0)
