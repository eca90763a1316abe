"""A full disk: only stored changes are acknowledged, and writing continues when there is space again (B6)."""

import os
import resource
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .process import Child
from .scenario import Scenario, Scenarios
from .waiting import busy, until

COMPLAINT, RELIEF = "the store does not answer", "the store answers again"


@contextmanager
def small_disk(folder: Path) -> Generator[Path]:
    """Mount a small disk with space for a store and its log, or skip the test."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "none", folder], capture_output=True, check=False
    )  # needs root
    if made.returncode:
        pytest.skip(f"no disk can be made here: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Fill the disk with a file, and return the file."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


def wait_for_log(child: Child, text: str) -> None:
    until(lambda: text in child.log_tail)


def continues(here: Scenario, child: Child) -> None:
    wait_for_log(child, RELIEF)
    busy(child)
    child.end()
    verdict = here.audit()
    assert verdict.clean, f"{verdict}\n{here.logs()}"
    assert verdict.interrupted == 0, "no process died"


@pytest.mark.parametrize("killed", [False, True])
def test_b6_full_disk_delays_writes_and_loses_nothing(killed: bool, tmp_path: Path, scenarios: Scenarios) -> None:
    with (
        small_disk(tmp_path / "disk") as disk,
        scenarios(f"sqlite:///{disk / 'callboard.db'}", tmp_path / "scenario") as here,
    ):
        child = here.start(sessions=("s1", "s2"))
        child.until_ready()
        busy(child)
        filler = fill(disk)
        wait_for_log(child, COMPLAINT)
        assert "disk" in here.logs()
        facts = len(child.facts())
        if killed:
            child.kill()
            filler.unlink()
            here.rest(sessions=("s1", "s2"))
            verdict = here.audit()
            assert verdict.clean, f"{verdict}\n{here.logs()}"
        else:
            filler.unlink()
            continues(here, child)
            assert len(child.facts()) > facts


def test_b6_file_that_cannot_grow_delays_writes_and_loses_nothing(tmp_path: Path, scenarios: Scenarios) -> None:
    """A size limit of the process stands for the full disk; its own files are far smaller than the store."""
    with scenarios(f"sqlite:///{tmp_path / 'callboard.db'}", tmp_path) as here:
        child = here.start(sessions=("s1", "s2"))
        child.until_ready()
        busy(child)
        log = tmp_path / "callboard.db-wal"
        _, hardest = resource.prlimit(child.pid, resource.RLIMIT_FSIZE)
        most = log.stat().st_size + (1 << 16)
        assert most > 2 * here.witness.stat().st_size
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (most, hardest))
        wait_for_log(child, COMPLAINT)
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (hardest, hardest))
        continues(here, child)


def test_b6_store_that_cannot_be_created_gives_the_reason(tmp_path: Path, scenarios: Scenarios) -> None:
    with small_disk(tmp_path / "disk") as disk:
        fill(disk)
        with scenarios(f"sqlite:///{disk / 'callboard.db'}", tmp_path / "scenario") as here:
            child = here.start(busy=0.2)
            assert child.ended() == 1
            [fault] = [fact for fact in child.facts() if fact["what"] == "fault"]
            assert "StoreUnavailable" in fault["trace"]
            assert os.fspath(disk / "callboard.db") in fault["trace"].splitlines()[-1], "operators know where to look"
