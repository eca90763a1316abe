"""A forked process behaves like a started process."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import forked

SCRIPT = """
import signal, sys, threading
threading.Thread(target=lambda: sys.stdin.read(), name="one that is waited for").start()
sys.stdout.write(f"ü {sys.argv[1:]} {sys.stdout.encoding} {sys.path[0]} {__name__} {signal.getsignal(signal.SIGINT)!r}")
sys.stderr.write("complaint\\n")
sys.exit("the end")
"""


def said(tmp_path: Path, *arguments: str, **how: Any) -> tuple[int, str, str]:
    out, err = tmp_path / "out", tmp_path / "err"
    with open(os.devnull) as nothing, out.open("w") as writing, err.open("w") as complaining:
        process = forked.start(
            *arguments,
            stdin=nothing.fileno(),
            stdout=writing.fileno(),
            stderr=complaining.fileno(),
            cwd=tmp_path,
            env={**os.environ, "PYTHONUTF8": "1"},
            **how,
        )
        code = process.wait(forked.PATIENCE)
    return code, out.read_text(), err.read_text()


@pytest.mark.parametrize("command", ["tools list", "tools schema nothing", "nonsense"])
def test_a_command_says_the_same(tmp_path: Path, command: str) -> None:
    assert said(tmp_path, *command.split()) == said(tmp_path, *command.split(), anew=True)


def test_a_script_runs_the_same(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    found = said(tmp_path, "one", "two", script=str(script))
    assert found == said(tmp_path, "one", "two", script=str(script), anew=True)
    assert (found[0], found[2]) == (1, "complaint\nthe end\n")


def test_it_is_killed_as_any_process_is(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("input()")
    theirs, ours = os.pipe()
    with open(os.devnull, "w") as nowhere:
        process = forked.start(
            stdin=theirs, stdout=nowhere.fileno(), stderr=nowhere.fileno(), cwd=tmp_path, env={}, script=str(script)
        )
    os.close(theirs)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0)
    assert os.getsid(process.pid) == process.pid
    process.kill()
    assert process.wait(forked.PATIENCE) == process.poll() == -signal.SIGKILL
    os.close(ours)
