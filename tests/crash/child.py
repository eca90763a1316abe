"""A process that a crash test kills.

`python -m tests.crash.child` is a fork server: it has imported everything, and forks a child for each line of options
on its input. It writes the child's process id, and then its exit status.
"""

import asyncio
import os
import random
import signal
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import BaseModel

import callboard.sessions.dispatcher as dispatcher
import callboard.sessions.heartbeat as heartbeat
import callboard.sessions.liveness as liveness
import callboard.sessions.queue_turns as queue_turns
from callboard import BreakerPolicy, Runtime
from callboard.adapters.stores.sqlite import database as sqlite
from callboard.storage.errors import StoreUnavailable

from .load import ALL_DAY, BESIDE, Visitor, rest, until_idle, user_of
from .tools import TOOLS, WORKERS, current, placement_of
from .witness import Witness, facts_in

LONGEST = 600
"""Seconds after which a child ends in any case."""


class Options(BaseModel, frozen=True):
    """The task of a child."""

    store: str
    witness: Path
    log: Path
    """File for its log and its standard error."""
    who: str
    seed: int
    role: Literal["work", "beside", "rest", "script", "serve"] = "work"
    engine: str | None = None
    """Address of the engine; with one, workers carry out most tools."""
    sessions: tuple[str, ...] = ("s1", "s2", "s3")
    visitors: int = 3
    """Number of visitors of each session."""
    script: tuple[tuple[str, Any], ...] = ()
    """Steps of the first visitor of the first session, after which it waits to be killed."""
    pace: float = 1.0
    """Factor on the intervals of beats and leases."""
    busy: float = sqlite.BUSY
    """Seconds for which a write to a busy file is repeated."""
    machine: str | None = None
    """Name of another machine, for a child that must not be recognised as a process of this machine."""


async def run_role(options: Options, witness: Witness) -> None:
    runtime = Runtime(
        TOOLS if options.engine is None else [each.with_(placement=placement_of(each)) for each in TOOLS],
        workers=WORKERS,
        store=options.store,
        engine=options.engine,
        queues=["default"] if options.role == "serve" else (),
        recover=options.role != "beside",
        breaker=BreakerPolicy(failure_threshold=1_000_000),
        idle_after=0.2,
    )
    async with runtime:
        witness.write("ready", pid=os.getpid(), role=options.role)
        if options.role == "serve":
            await _serve(runtime)
            return
        visitors = [
            Visitor(runtime, session_id, f"{options.who}.{session_id}.{number}", random.Random(chance), witness)
            for session_id in options.sessions
            for number in range(options.visitors)
            for chance in (f"{options.seed} {options.who} {session_id} {number}",)
        ]
        if options.role == "rest":
            await _rest(options, runtime, visitors, witness)
        elif options.role == "script":
            await visitors[0].follow(options.script)
        else:
            habits = ALL_DAY if options.role == "work" else BESIDE
            stays = [asyncio.create_task(visitor.stay(habits)) for visitor in visitors]
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _end, stays)
            await asyncio.wait(stays)
            await until_idle(runtime, options.sessions if options.role != "beside" else ())
            witness.write("leaves")


async def _serve(runtime: Runtime) -> None:
    """Serve queues until the process is asked to end, and end what runs."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    await stopping.wait()
    assert runtime.worker is not None
    await runtime.worker.drain()


def _end(stays: list[asyncio.Task[None]]) -> None:
    """Stop the visitors, since the process is asked to end."""
    for stay in stays:
        stay.cancel()


async def _rest(options: Options, runtime: Runtime, visitors: list[Visitor], witness: Witness) -> None:
    """Wait until all work has ended, repeat acknowledged calls, and take the results of every second session."""
    facts = list(facts_in(options.witness))
    acknowledged = {fact["call"] for fact in facts if fact["what"] == "outcome" and fact["how"] == "call"}
    for number, session_id in enumerate(options.sessions):
        session = await runtime.open(session_id, user_of(session_id))
        again = [
            (fact["call"], fact["tool"], fact["arguments"])
            for fact in facts
            if fact["what"] == "call"
            and fact["how"] == "call"
            and fact["session"] == session_id
            and fact["call"] in acknowledged
        ]
        visitor = visitors[number * options.visitors]
        await visitor.enter()
        await rest(visitor, session, again[-150:], take=number % 2 == 0)
    witness.write("rested")


def run(options: Options) -> None:
    """Run a child from start to end."""
    current.witness = witness = Witness(options.witness, options.who)
    heartbeat.BEAT = options.pace * heartbeat.BEAT
    liveness.LEASE, liveness.LONG_LEASE = options.pace * liveness.LEASE, options.pace * liveness.LONG_LEASE
    sqlite.BUSY = options.busy
    queue_turns.LATE, dispatcher.SWEEP = 0.0, 0.5  # users take turns whenever several wait in a queue
    if options.machine is not None:
        machine = options.machine
        liveness._machine = lambda: machine
    try:
        asyncio.run(run_role(options, witness))
    except BaseException as error:
        if options.engine is not None and isinstance(error, StoreUnavailable):
            return  # the database was restarted while this process started; the test starts another
        witness.write("fault", session=None, trace=traceback.format_exc())
        raise


def serve_forks() -> None:
    with TemporaryDirectory() as name:  # a first run, which loads every module before the forks
        folder = Path(name)
        store, witness = f"sqlite:///{folder / 'store.db'}", folder / "witness"
        run(Options(store=store, witness=witness, log=folder / "log", who="warm-up", seed=0, role="rest"))
    for module in ("stores.postgres", "engines.nats"):
        with suppress(ModuleNotFoundError):
            import_module(f"callboard.adapters.{module}")
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            status = 1
            signal.alarm(LONGEST)
            try:
                options = Options.model_validate_json(line)
                os.close(0)
                os.dup2(os.open(options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
                run(options)
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        _write_number(pid)
        _write_number(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _write_number(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve_forks()
