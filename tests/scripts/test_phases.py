"""The phases of a setup: plain lines in CI, one line that changes on a terminal, and the output of what failed."""

import io
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from scripts import phases as module
from scripts.phases import CommandFailed, Phases, run


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def seconds(step: float) -> Callable[[], float]:
    """Make a clock that advances by a step whenever it is read."""
    times: Iterator[float] = count(0.0, step)
    return lambda: next(times)


def test_phases_are_lines_where_there_is_no_terminal(stream: io.StringIO) -> None:
    phases = Phases(stream, clock=seconds(1.5))
    with phases.phase("Packages") as report:
        report("Downloading a")
    with phases.phase("Page"):
        pass
    assert stream.getvalue() == "Packages …\nPackages: 1.5 s\nPage …\nPage: 1.5 s\n"


def test_phase_that_fails_says_so(stream: io.StringIO) -> None:
    with pytest.raises(CommandFailed), Phases(stream, clock=seconds(2)).phase("Packages"):
        raise CommandFailed("no")
    assert stream.getvalue() == "Packages …\nPackages: failed after 2.0 s\n"


def test_line_on_a_terminal_is_rewritten_with_the_time_and_the_detail(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TICK", 0.001)
    monkeypatch.setenv("COLUMNS", "40")
    with Phases(stream, live=True).phase("Packages") as report:
        report("\x1b[2mDownloading pydantic-core (2 MiB) from somewhere\x1b[0m\n")
        deadline = time.monotonic() + 20
        while "Downloading" not in stream.getvalue():
            assert time.monotonic() < deadline
    shown = stream.getvalue().split("\r\x1b[K")[1:]
    assert shown[-2] == "Packages … 0 s  Downloading pydantic-core"[:39]
    assert shown[-1] == "Packages: 0.0 s\n"


def test_output_of_a_command_is_reported_line_by_line_and_shown_if_it_fails(tmp_path: Path) -> None:
    reported: list[str] = []
    run((sys.executable, "-c", "print('one'); print('two')"), tmp_path, reported.append)
    assert reported == ["one\n", "two\n"]
    with pytest.raises(CommandFailed, match=r"setting up failed at: .*\n(?s:.*)what happened"):
        run((sys.executable, "-c", "import sys; sys.exit('what happened')"), tmp_path, reported.append)
