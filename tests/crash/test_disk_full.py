"""A full disk: nothing is acknowledged that is not stored, and it goes on when there is room again (B6)."""

import os
import resource
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .process import Child
from .stage import Stage, Stages
from .waiting import busy, until

COMPLAINT, RELIEF = "the store does not answer", "the store answers again"


@contextmanager
def small_disk(folder: Path) -> Generator[Path]:
    """A small disk, with room for a log and its store, where we may make one."""
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
    """Leave no room. The file that takes it can be removed."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


def is_said(child: Child, text: str) -> None:
    until(lambda: text in child.said)


def goes_on(here: Stage, child: Child) -> None:
    is_said(child, RELIEF)
    busy(child)
    child.end()
    verdict = here.audit()
    assert verdict.clean, f"{verdict}\n{here.said()}"
    assert verdict.interrupted == 0, "nobody died"


@pytest.mark.parametrize("dies", [False, True])
def test_b6_full_disk_delays_writes_and_loses_nothing(dies: bool, tmp_path: Path, stages: Stages) -> None:
    with (
        small_disk(tmp_path / "disk") as disk,
        stages(f"sqlite:///{disk / 'callboard.db'}", tmp_path / "stage") as here,
    ):
        child = here.start(sessions=("s1", "s2"))
        child.until_ready()
        busy(child)
        filler = fill(disk)
        is_said(child, COMPLAINT)
        assert "disk" in here.said()
        told = len(child.facts())
        if dies:
            child.kill()
            filler.unlink()
            here.rest(sessions=("s1", "s2"))
            verdict = here.audit()
            assert verdict.clean, f"{verdict}\n{here.said()}"
        else:
            filler.unlink()
            goes_on(here, child)
            assert len(child.facts()) > told


def test_b6_file_that_cannot_grow_delays_writes_and_loses_nothing(tmp_path: Path, stages: Stages) -> None:
    """The same where no disk can be made, by a limit of the process; its own files are far smaller than the store's."""
    with stages(f"sqlite:///{tmp_path / 'callboard.db'}", tmp_path) as here:
        child = here.start(sessions=("s1", "s2"))
        child.until_ready()
        busy(child)
        log = tmp_path / "callboard.db-wal"
        _, hardest = resource.prlimit(child.pid, resource.RLIMIT_FSIZE)
        most = log.stat().st_size + (1 << 16)
        assert most > 2 * here.witness.stat().st_size
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (most, hardest))
        is_said(child, COMPLAINT)
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (hardest, hardest))
        goes_on(here, child)


def test_b6_store_that_cannot_be_created_gives_the_reason(tmp_path: Path, stages: Stages) -> None:
    with small_disk(tmp_path / "disk") as disk:
        fill(disk)
        with stages(f"sqlite:///{disk / 'callboard.db'}", tmp_path / "stage") as here:
            child = here.start(busy=0.2)
            assert child.ended() == 1
            [fault] = [fact for fact in child.facts() if fact["what"] == "fault"]
            assert "StoreUnavailable" in fault["trace"]
            assert os.fspath(disk / "callboard.db") in fault["trace"].splitlines()[-1], "operators know where to look"
