"""The tutorial works as written: its blocks, copied in order into files and a shell, print what the page shows (O4)."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
DEADLINE = 90.0


class Shell:
    """A shell in a folder, like that of a reader. What it printed since the last command is in `lines`."""

    def __init__(self, folder: Path) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._printed: queue.Queue[str] = queue.Queue()
        assert self.process.stdout is not None
        self._reading = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reading.start()

    def _read(self, output: IO[str]) -> None:
        for line in output:
            self._printed.put(line.rstrip("\n"))

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

    def wait_for(self, text: str) -> str:
        """Wait for a line that contains a text, and return it."""
        deadline = time.monotonic() + DEADLINE
        while not (found := [line for line in self.lines if text in line]):
            try:
                self.lines.append(self._printed.get(timeout=max(0.0, deadline - time.monotonic())))
            except queue.Empty:
                pytest.fail(f"{text!r} was not printed, but:\n" + "\n".join(self.lines))
        return found[0]

    def close(self) -> None:
        """End the shell, and everything that it started."""
        with self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self._reading.join()


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


def test_o4_tutorial_works_as_written(shell: Shell, tmp_path: Path) -> None:
    for language, title, text in blocks():
        match language:
            case "python":
                save(tmp_path, title, text)
            case "sh" if "callboard serve" not in text:
                shell.run(text)
            case "text":
                for line in text.replace("…\n", "").splitlines():
                    # a fast machine has carried out the approved order by then, a slow one has started it
                    shell.wait_for(line.replace("order: succeeded", "order: "))
            case _:
                pass
    events = "\n".join(shell.lines)
    assert events.count("tool_result         order_goods") == 1
    assert events.count("tool_result         count_shelves") == 1
    assert "tool_retrying" in events, "the process was killed in the middle of its work"


@pytest.mark.slow
def test_o4_tools_of_the_tutorial_are_served(shell: Shell, tmp_path: Path) -> None:
    for language, title, text in blocks():
        if language == "python":
            save(tmp_path, title, text)
    (serve,) = [text for language, _, text in blocks() if language == "sh" and "callboard serve" in text]
    shell.type(serve.replace("callboard serve", "callboard serve --port 0"))
    address = shell.wait_for("http://").split()[-1]
    with urllib.request.urlopen(f"{address}/api/tools") as response:
        names = {tool["name"] for tool in json.load(response)["tools"]}
    assert {"check_stock", "count_shelves", "order_goods"} <= names


def test_o4_tutorial_is_short() -> None:
    words = len(BLOCK.sub("", PAGE.read_text()).split())
    assert words < 1000, "ten minutes"
