"""Run the command line, and servers beside it, in this process or in a new one."""

import asyncio
import os
import select
import signal
import sys
import termios
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import pytest

from callboard import Runtime
from callboard.adapters.stores import open_store
from callboard.cli import app
from callboard.storage.change import Change
from callboard.storage.store import Store
from callboard.testing.store_rows import session_row
from tests import forked
from tests.cli import sample_server

T = TypeVar("T")

HERE = Path(__file__).parent
PATIENCE = 90.0


class Done(NamedTuple):
    code: int
    out: str
    err: str


def run_here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Done:
    """Run a command in this process. Its standard error has neither a traceback nor control codes."""
    monkeypatch.setattr(sys, "argv", ["callboard", *arguments])
    capsys.readouterr()
    code = app.run()
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert "\x1b" not in err
    return Done(int(code), out, err)


class Command:
    """Runs commands in this process, on one store."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = url
        self._capsys, self._monkeypatch = capsys, monkeypatch
        monkeypatch.setenv("CALLBOARD_STORE", url)
        monkeypatch.setenv("COLUMNS", "200")

    def __call__(self, *arguments: str) -> Done:
        done = run_here(self._capsys, self._monkeypatch, *arguments)
        assert "\x1b" not in done.out
        return done


class Process:
    """A process whose output is read. Its input ends with `end`, or at the end of the `with` block.

    `terminal` is the stream that is a terminal, if any: `out`, or `err`, which is then the input too.
    """

    def __init__(
        self,
        *arguments: str,
        script: str | None = None,
        terminal: str | None = None,
        columns: int = 100,
        folder: Path = HERE,
        **environment: str,
    ) -> None:
        given = {**os.environ, "PYTHONUTF8": "1", "TERM": "xterm-256color", **environment}
        for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES", "CALLBOARD_STORE"):
            given.pop(name, None)
        ends = {stream: os.openpty() if stream == terminal else os.pipe() for stream in ("out", "err")}
        if terminal is not None:
            termios.tcsetwinsize(ends[terminal][0], (40, columns))
        self._open = {stream: reading for stream, (reading, _) in ends.items()}
        out, err = ends["out"][1], ends["err"][1]
        stdin, self._input = os.pipe()
        self._process = forked.start(
            *arguments,
            script=script,
            stdin=err if terminal == "err" else stdin,
            stdout=out,
            stderr=err,
            cwd=folder,
            env=given,
            terminal=terminal == "err",
            anew="PYTHONIOENCODING" in environment,
        )
        for end in (stdin, out, err):
            os.close(end)
        self._got = {"out": b"", "err": b""}

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def until(self, text: str, stream: str = "out") -> str:
        """Wait for a text in a stream, and return everything read so far."""
        return self.wait_for(lambda got: text in got, stream, repr(text))

    def wait_for(self, condition: Callable[[str], bool], stream: str, wanted: str = "the condition") -> str:
        """Wait until the text of a stream satisfies a condition, and return it."""

        def got() -> str:
            return self._got[stream].decode(errors="replace")

        self._take(lambda: condition(got()))
        assert condition(got()), f"{wanted} did not come: {self._got}"
        return got()

    def write(self, text: str) -> None:
        """Write to its input, which is not a terminal."""
        os.write(self._input, text.encode())

    def press(self, key: bytes) -> None:
        """Press a key on the terminal."""
        os.write(self._open["err"], key)

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self, stream: str) -> None:
        """Close our end of a stream."""
        os.close(self._open.pop(stream))

    def end(self) -> Done:
        """Close its input, and wait for its exit."""
        self._end_input()
        self._take(lambda: False)
        code = self._process.wait(PATIENCE)
        out, err = (self._got[name].decode().replace("\r\n", "\n") for name in ("out", "err"))
        assert "Traceback" not in err
        assert "Exception ignored" not in err
        return Done(code, out, err)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end_input()
        self.kill()
        for name in list(self._open):
            self.close(name)

    def _end_input(self) -> None:
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    def _take(self, enough: Callable[[], bool]) -> None:
        """Read until `enough`, or to the end of all streams."""
        deadline = time.monotonic() + PATIENCE
        while not enough() and self._open:
            ready, _, _ = select.select(list(self._open.values()), [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"nothing more came: {self._got}"
            for name in [name for name, end in self._open.items() if end in ready]:
                try:
                    data = os.read(self._open[name], 65536)
                except OSError:  # a terminal whose other side is closed
                    data = b""
                self._got[name] += data
                if not data:
                    self.close(name)


def callboard(url: str, *arguments: str, columns: int | None = None, **environment: str) -> Process:
    """Start a command in a new process, with pipes, or with a terminal of `columns` as output."""
    terminal = None if columns is None else "out"
    return Process(*arguments, "--store", url, terminal=terminal, columns=columns or 0, folder=HERE, **environment)


def server(url: str, *names: str) -> Process:
    """Start a server that calls those tools in the session s1 of ann."""
    process = Process(url, *names, script=sample_server.__file__)
    process.until("ready")
    return process


def call_and_close(url: str, *names: str) -> None:
    """Call tools in the session s1 of ann in a runtime, and close the runtime. Requests stay open."""

    async def work() -> None:
        async with Runtime(sample_server.registry, store=url) as runtime:
            await sample_server.call(await sample_server.open_session(runtime), *names)

    asyncio.run(work())


def stored(url: str, work: Callable[[Store], Awaitable[T]]) -> T:
    """Use the store directly, as another process would."""

    async def run() -> T:
        store = open_store(url)
        await store.open(lambda *_: None)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def post(url: str, *events: bytes, session_id: str = "s1") -> None:
    """Post encoded events to a session, which is created if needed."""

    async def write(store: Store) -> Sequence[object]:
        known = await store.session(session_id)
        return await store.commit([Change(session_id, session=known or session_row(session_id), events=events)])

    [number] = stored(url, write)
    assert isinstance(number, int), number
