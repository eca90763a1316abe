"""Several processes on one SQLite file, and a process that is killed (D1, E5)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from callboard.adapters.stores import open_store
from callboard.testing.store_rows import post

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "callboard.db"


STARTING = """
import asyncio, sys
from callboard.adapters.stores import open_store
from callboard.testing.store_rows import create, post

async def main(url, name):
    store = open_store(url)
    await store.open(lambda *_: None)
    await store.commit([create(name)])
    print(await store.commit([post(1, session_id=name)]), flush=True)
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""

WRITING = """
import asyncio, sys
from callboard.adapters.stores import open_store
from callboard.testing.store_rows import create, post

async def main(url):
    store = open_store(url)
    await store.open(lambda *_: None)
    await store.commit([create()])
    for number in range(1, 1_000_000):
        (seq,) = await store.commit([post(number)])
        print(seq, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def started(code: str, *arguments: str) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_d1_processes_that_start_at_once_create_one_file(path: Path) -> None:
    url = f"sqlite:///{path}"
    processes = [started(STARTING, url, f"s{number}") for number in range(4)]
    outputs = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert outputs == ["[1]"] * 4
    assert [process.returncode for process in processes] == [0] * 4
    store = open_store(url)
    await store.open(lambda *_: None)
    assert [row.id for row in await store.sessions()] == ["s0", "s1", "s2", "s3"]
    await store.close()


async def test_e5_every_acknowledged_event_survives_a_kill(path: Path) -> None:
    process = started(WRITING, f"sqlite:///{path}")
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(150)]
    process.send_signal(signal.SIGKILL)
    acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
    process.wait(90)
    process.stdout.close()
    store = open_store(f"sqlite:///{path}")
    await store.open(lambda *_: None)
    page = await store.events("s", 0, 10**6)
    assert acknowledged == list(range(1, len(acknowledged) + 1))
    assert len(acknowledged) <= page.last_seq <= len(acknowledged) + 1, "an unacknowledged event may be stored"
    assert len(page.lines) == page.last_seq
    assert await store.commit([post(0)]) == [page.last_seq + 1]
    await store.close()
