"""Ways to run the command line and what stands beside it: in this process, or in one of its own."""

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
from callboard.storage.port import Change, Store
from tests import forked
from tests.cli import sample_server
from tests.contracts.rows import session_row

T = TypeVar("T")

HERE = Path(__file__).parent
PATIENCE = 30.0


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Command:
    """Runs the command in this process, with a store of its own."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = url
        self._capsys, self._monkeypatch = capsys, monkeypatch
        monkeypatch.setenv("CALLBOARD_STORE", url)
        monkeypatch.setenv("COLUMNS", "200")

    def __call__(self, *arguments: str) -> Done:
        self._monkeypatch.setattr(sys, "argv", ["callboard", *arguments])
        self._capsys.readouterr()
        code = app.run()
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        assert "\x1b" not in out + err
        return Done(int(code), out, err)


class Process:
    """A process that is watched: its input ends when `end` is called, at the latest with the `with` block."""

    def __init__(self, *arguments: str, script: str | None = None, columns: int = 0, **environment: str) -> None:
        given = {**os.environ, "PYTHONUTF8": "1", "TERM": "xterm-256color", **environment}
        for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES", "CALLBOARD_STORE"):
            given.pop(name, None)
        reading, writing = os.openpty() if columns else os.pipe()
        if columns:
            termios.tcsetwinsize(reading, (40, columns))
        theirs, self._input = os.pipe()
        errors, erring = os.pipe()
        self._process = forked.start(
            *arguments, script=script, stdin=theirs, stdout=writing, stderr=erring, cwd=HERE, env=given
        )
        for end in (theirs, writing, erring):
            os.close(end)
        self._open = {"out": reading, "err": errors}
        self._got = {"out": b"", "err": b""}

    def until(self, text: str, stream: str = "out") -> str:
        """Wait until the text was written, and return all that was."""
        self._take(lambda: text.encode() in self._got[stream])
        assert text.encode() in self._got[stream], f"{text!r} did not come: {self._got}"
        return self._got[stream].decode()

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self, stream: str) -> None:
        """Read no more of a stream."""
        os.close(self._open.pop(stream))

    def end(self) -> Done:
        """End its input, and wait for its end."""
        self._end_input()
        self._take(lambda: False)
        code = self._process.wait(PATIENCE)
        out, err = (self._got[name].decode().replace("\r\n", "\n") for name in ("out", "err"))
        assert "Traceback" not in err
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
        """Read until there is enough, or all there is."""
        deadline = time.monotonic() + PATIENCE
        while not enough() and self._open:
            ready, _, _ = select.select(list(self._open.values()), [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"nothing more came: {self._got}"
            for name in [name for name, end in self._open.items() if end in ready]:
                try:
                    data = os.read(self._open[name], 65536)
                except OSError:  # a terminal's way to say that the other side is closed
                    data = b""
                self._got[name] += data
                if not data:
                    self.close(name)


def callboard(url: str, *arguments: str, columns: int = 0, **environment: str) -> Process:
    """The command in a process of its own, with pipes, or with its output on a terminal of so many columns."""
    return Process(*arguments, "--store", url, columns=columns, **environment)


def server(url: str, *names: str) -> Process:
    """A server that has called those tools, in the session s1 of ann, and carries them out."""
    process = Process(url, *names, script=sample_server.__file__)
    process.until("ready")
    return process


def left_behind(url: str, *names: str) -> None:
    """Have a runtime call tools in the session s1 of ann, and end: what waits for a person then waits on."""

    async def work() -> None:
        async with Runtime(sample_server.registry, store=url) as runtime:
            await sample_server.call(await sample_server.open_session(runtime), *names)

    asyncio.run(work())


def stored(url: str, work: Callable[[Store], Awaitable[T]]) -> T:
    """Do something with the store itself, as another process would."""

    async def visit() -> T:
        store = open_store(url)
        await store.open(lambda _: None)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(visit())


def post(url: str, *events: bytes, session_id: str = "s1") -> None:
    """Put encoded events on the board of a session, which is made if it is not there."""

    async def write(store: Store) -> Sequence[object]:
        known = await store.session(session_id)
        return await store.commit([Change(session_id, session=known or session_row(session_id), events=events)])

    [number] = stored(url, write)
    assert isinstance(number, int), number
