"""The tutorial works as written: its blocks, copied in order into files and a shell, print what the page shows (O4).

The shell prints to a terminal, as that of a reader does.
"""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import termios
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
CODE = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")
ERASED = re.compile(r".*(?:\r|\x1b\[2K)")
DURATION = re.compile(r"\d+(?:\\\.\d+)?\\ m?s\b")
DEADLINE = 90.0


class Shell:
    """A shell in a folder, like that of a reader. What it printed since the last command is in `lines`."""

    def __init__(self, folder: Path) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1", "TERM": "xterm-256color"}
        self._terminal, output = os.openpty()
        termios.tcsetwinsize(output, (40, 120))
        self.process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        os.close(output)
        self._printed: queue.Queue[str] = queue.Queue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        rest = b""
        while data := self._read_some():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._printed.put(CODE.sub("", ERASED.sub("", line.decode(errors="replace").rstrip("\r"))))

    def _read_some(self) -> bytes:
        try:
            return os.read(self._terminal, 65_536)
        except OSError:  # nothing has the other side open
            return b""

    def type(self, commands: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(commands)
        self.process.stdin.flush()

    def run(self, commands: str) -> None:
        """Run commands, and wait until the shell is ready for the next ones."""
        self.lines = []
        self.type(f"{commands}echo ready-again\n")
        self.wait_for("ready-again")
        self.lines.remove("ready-again")

    def wait_for(self, pattern: str) -> str:
        """Wait for a line that matches a pattern, and return it."""
        deadline = time.monotonic() + DEADLINE
        while not (found := [line for line in self.lines if re.fullmatch(pattern, line.rstrip())]):
            try:
                self.lines.append(self._printed.get(timeout=max(0.0, deadline - time.monotonic())))
            except queue.Empty:
                pytest.fail(f"{pattern!r} was not printed, but:\n" + "\n".join(self.lines))
        return found[0]

    def close(self) -> None:
        """End the shell, and everything that it started."""
        with self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self._reading.join()
            os.close(self._terminal)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    opened = Shell(tmp_path)
    yield opened
    opened.close()


def blocks() -> list[tuple[str, str, str]]:
    """Return language, title and text of the tutorial's blocks, without the installation."""
    found = [(language, title, text) for language, title, text in BLOCK.findall(PAGE.read_text())]
    return [each for each in found if "pip install" not in each[2]]


def save(folder: Path, title: str, text: str) -> None:
    """Save a block in the file that its title names, or add it to the end."""
    name, _, continued = title.partition(", ")
    file = folder / name
    file.write_text(f"{file.read_text()}\n\n{text}" if continued else text)


def pattern_of(line: str) -> str:
    """Return the pattern of a printed line: durations differ, and so does the status of the approved order."""
    pattern = DURATION.sub(r"[\\d.]+ m?s", re.escape(line))
    return pattern.replace(r"order:\ started", "order: (waiting|started|succeeded)")


def test_o4_tutorial_works_as_written(shell: Shell, tmp_path: Path) -> None:
    for language, title, text in blocks():
        match language:
            case "python":
                save(tmp_path, title, text)
            case "sh" if "callboard serve" not in text:
                shell.run(text)
            case "text":
                for line in text.replace("…\n", "").splitlines():
                    shell.wait_for(pattern_of(line))
            case _:
                pass
    events = "\n".join(shell.lines)
    assert len(re.findall(r"tool_result +order_goods", events)) == 1
    assert len(re.findall(r"tool_result +count_shelves", events)) == 1
    assert "tool_retrying" in events, "the process was killed in the middle of its work"


@pytest.mark.slow
def test_o4_tools_of_the_tutorial_are_served(shell: Shell, tmp_path: Path) -> None:
    for language, title, text in blocks():
        if language == "python":
            save(tmp_path, title, text)
    (serve,) = [text for language, _, text in blocks() if language == "sh" and "callboard serve" in text]
    shell.type(serve.replace("callboard serve", "callboard serve --port 0"))
    address = shell.wait_for(".*http://.*").split()[-1]
    with urllib.request.urlopen(f"{address}/api/tools") as response:
        names = {tool["name"] for tool in json.load(response)["tools"]}
    assert {"check_stock", "count_shelves", "order_goods"} <= names


def test_o4_tutorial_is_short() -> None:
    words = len(BLOCK.sub("", PAGE.read_text()).split())
    assert words < 1000, "ten minutes"
