"""The process of a command: Ctrl-C before and after the command, and closed standard streams (O3)."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import callboard
from callboard.cli.process import Exit

PATIENCE = 90.0
COMMAND = "from callboard.cli import main; main()"

TOOLS = """
import atexit, os, sys, time
from callboard import Registry, tool

@tool
async def hello() -> str:
    '''Greet.'''
    return "hello"

def linger(word, write=os.write, exists=os.path.exists, sleep=time.sleep):
    write(2, word)
    while not exists("go"):
        sleep(0.01)

class Late:
    def __del__(self, linger=linger):
        linger(b"gone\\n")

if "AT_EXIT" in os.environ:
    atexit.register(linger, b"ending\\n")
if "AT_THE_VERY_END" in os.environ:
    sys.late = Late()

registry = Registry([hello])
"""

SLOW_TO_LOAD = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            sys.stderr.write("loading\\n")
            sys.stderr.flush()
            time.sleep(60)
sys.meta_path.insert(0, Slow())
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the command in a new interpreter, since its start and its end are tested."""
    (tmp_path / "greeting.py").write_text(TOOLS)
    started: list[subprocess.Popen[str]] = []

    def begin(*, before: str = "", redirected: str = "", options: tuple[str, ...] = (), **more: str) -> Any:
        run = [sys.executable, "-c", before + COMMAND, "tools", "run", "hello", "--tools", "greeting:registry"]
        process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" {redirected}', "sh", *run, *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for each in started:
        each.kill()
        each.communicate()


def until(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stderr is not None
    assert any(each == f"{line}\n" for each in process.stderr), f"{line!r} did not come"


@pytest.mark.parametrize("module", ["callboard.cli.app", "callboard.cli.commands.tools"])
def test_o3_an_interrupt_during_loading_stops(start: Start, module: str) -> None:
    process = start(before=SLOW_TO_LOAD.replace("{module}", module))
    until(process, "loading")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE) == ("", "error: stopped\n")
    assert process.returncode == Exit.INTERRUPTED


def test_o3_an_interrupt_after_the_result_keeps_the_exit_code(start: Start) -> None:
    process = start(AT_EXIT="1")
    until(process, "ending")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE) == ("hello\n", "")
    assert process.returncode == Exit.OK


def test_o3_an_interrupt_during_shutdown_changes_nothing(start: Start, tmp_path: Path) -> None:
    process = start(AT_THE_VERY_END="1")
    until(process, "gone")
    process.send_signal(signal.SIGINT)
    (tmp_path / "go").touch()
    assert process.communicate(timeout=PATIENCE) == ("hello\n", "")
    assert process.returncode == Exit.OK


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize(
    ("redirected", "shown"),
    [(">&-", ("", True)), ("2>&-", (True, "")), ("<&-", (True, True)), (">&- 2>&- <&-", ("", ""))],
)
def test_o3_closed_standard_streams_are_no_error(
    start: Start, redirected: str, shown: tuple[object, object], options: tuple[str, ...]
) -> None:
    process = start(redirected=redirected, options=options)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == Exit.OK, err
    assert "Traceback" not in err
    assert bool(out) == bool(shown[0])
    assert options or bool(err) == bool(shown[1])


def test_o3_python_runs_the_module_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "callboard", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"callboard {callboard.__version__}\n", "")
