"""Worker processes (D3): they drain, they die, and the engine goes away; nothing is lost."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from callboard import Runtime, Session
from callboard.runtime import migrate_store
from callboard.telemetry.metrics import CONTENT_TYPE
from callboard.testing.engine_contract import until
from tests.engines import worker_tools
from tests.nats_servers import NatsServer

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DEADLINE = 90.0
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    path.touch()
    return path


@pytest.fixture
def start(postgres_url: str, nats: str, notes: Path) -> Iterator[Start]:
    """Starts `callboard worker` processes, which end with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(*options: str, tools: str = "tests.engines.worker_tools:tools") -> "subprocess.Popen[str]":
        run_callboard = "from callboard.cli import main; main()"
        command = [sys.executable, "-c", run_callboard, "worker", "--store", postgres_url, "--engine", nats, "--json"]
        process = subprocess.Popen(
            [*command, "--tools", tools, *options],
            cwd=ROOT,
            env={**os.environ, "NOTES": str(notes), "PYTHONPATH": os.pathsep.join([*sys.path, str(EXAMPLES)])},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


async def noted(notes: Path, word: str, count: int = 1) -> list[str]:
    """Wait until handlers noted a word so often, and return their lines."""

    def found() -> list[str]:
        return [line for line in notes.read_text().splitlines() if line.startswith(f"{word} ")]

    await until(lambda: len(found()) >= count, DEADLINE)
    return found()


async def end(session: Session, execution_id: str | None) -> str:
    assert execution_id is not None
    outcome = await session.result(execution_id, timeout=DEADLINE)
    return str(outcome.value) if outcome.error is None else outcome.error.category.value


@pytest.mark.slow
async def test_d3_a_worker_finishes_its_calls_when_it_is_stopped(
    start: Start, postgres_url: str, nats: str, notes: Path
) -> None:
    async with Runtime(worker_tools.tools, store=postgres_url, engine=nats) as gateway:
        session = await gateway.open("s", "ann")
        process = start()
        call = await session.call("once", {"n": 1})
        await noted(notes, "once")
        process.send_signal(signal.SIGTERM)
        waiting = await session.call("quick", {"n": 2})
        assert await end(session, call.execution_id) == "once 1"
        assert await asyncio.to_thread(process.wait, DEADLINE) == 0
        start()
        assert await end(session, waiting.execution_id) == "2", "it waited for another worker"


async def test_d3_a_worker_reports_its_health_until_its_calls_have_ended(
    start: Start, postgres_url: str, nats: str, notes: Path
) -> None:
    async with Runtime(worker_tools.tools, store=postgres_url, engine=nats) as gateway:
        session = await gateway.open("s", "ann")
        process = start("--port", "0")
        address = await asyncio.to_thread(health_address, process)
        call = await session.call("once", {"n": 1})
        await noted(notes, "once")
        process.send_signal(signal.SIGTERM)
        async with httpx2.AsyncClient(base_url=address) as client:
            health = await client.get("/healthz")
            metrics = await client.get("/metrics")
        assert (health.status_code, health.json()) == (200, {"store": "ok", "engine": "ok"})
        assert metrics.headers["content-type"] == CONTENT_TYPE
        assert "callboard_executions" in metrics.text
        assert await end(session, call.execution_id) == "once 1"
        assert await asyncio.to_thread(process.wait, DEADLINE) == 0


def health_address(process: "subprocess.Popen[str]") -> str:
    """Return the address that a worker logs at its start."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"health and metrics at (http://\S+?)[\s\"]", line):
            return found[1]
    raise AssertionError(f"the worker ended with {process.wait()}")


async def test_e5_the_work_of_a_killed_worker_goes_on(start: Start, postgres_url: str, nats: str, notes: Path) -> None:
    async with Runtime(worker_tools.tools, store=postgres_url, engine=nats) as gateway:
        session = await gateway.open("s", "ann")
        first = start()
        once = await session.call("once", {"n": 1})
        again = await session.call("repeatable", {"n": 2})
        await noted(notes, "once")
        await noted(notes, "repeatable")
        first.kill()
        start()
        assert await end(session, once.execution_id) == "interrupted", "its effect is not known"
        assert await end(session, again.execution_id) == "repeatable 2"
        assert len(await noted(notes, "once")) == 1, "it did not run twice"
        assert len(await noted(notes, "repeatable")) == 2


@pytest.mark.slow
async def test_e5_a_worker_that_was_stopped_cannot_end_what_another_took(
    start: Start, postgres_url: str, nats: str, notes: Path
) -> None:
    async with Runtime(worker_tools.tools, store=postgres_url, engine=nats) as gateway:
        session = await gateway.open("s", "ann")
        first = start()
        call = await session.call("repeatable", {"n": 2})
        await noted(notes, "repeatable")
        first.send_signal(signal.SIGSTOP)
        row = await gateway.store.execution("s", str(call.execution_id))
        assert row is not None
        owner = next(each for each in await gateway.store.owners() if each.id == row.owner)
        recovered = await gateway.store.recover(owner.id, owner.beat, "another")
        assert len(recovered.requeued) == 1
        assert gateway.dispatcher is not None
        start()
        gateway.dispatcher.submit_again(recovered.requeued)
        await noted(notes, "repeatable", 2)
        first.send_signal(signal.SIGCONT)
        assert await end(session, call.execution_id) == "repeatable 2"
        page = await gateway.store.events("s", 0, 1_000)
        assert sum(b'"tool_result"' in line for line in page.lines) == 1


@pytest.mark.slow
async def test_d3_calls_wait_while_nats_is_away(
    start: Start, postgres_url: str, nats: str, own_nats: NatsServer, notes: Path
) -> None:
    own_nats.stop()
    async with Runtime(worker_tools.tools, store=postgres_url, engine=nats) as gateway:
        session = await gateway.open("s", "ann")
        early = await session.call("quick", {"n": 1})
        assert early.status == "started", "it is stored"
        start()
        own_nats.start()
        assert await end(session, early.execution_id) == "1"
        own_nats.stop(kill=True)
        own_nats.forget()
        later = await session.call("quick", {"n": 2})
        own_nats.start()
        assert await end(session, later.execution_id) == "2", "the stream was made again"


def test_o4_the_example_with_workers(start: Start, postgres_url: str, nats: str) -> None:
    migrate_store(postgres_url)
    worker = start(tools="workers:registry")
    environment = {**os.environ, "CALLBOARD_STORE": postgres_url, "CALLBOARD_ENGINE": nats}
    done = subprocess.run(
        [sys.executable, EXAMPLES / "workers.py"],
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=True,
    )
    assert f"succeeded 3,000 words, counted by process {worker.pid}" in done.stdout
    assert " 50% page 5 of 10" in done.stdout
