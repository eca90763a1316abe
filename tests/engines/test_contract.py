"""The contract of engines over each of them, and what is true of NATS alone (D3)."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import nats as nats_client
import pytest
from nats.aio.msg import Msg
from nats.js.api import StreamConfig

from callboard.adapters.engines import LocalEngine, open_engine
from callboard.adapters.engines.nats import wake_sender
from callboard.execution.engine import Engine, EngineError
from callboard.testing.engine_contract import (
    EngineContract,
    MakeEngine,
    Served,
    call,
    opened,
    serving,
    until,
    until_waiting,
)
from tests.nats_servers import NatsServer, nats_cluster


class TestEngine(EngineContract):
    @pytest.fixture(params=["local", "nats"])
    def engines(self, request: pytest.FixtureRequest) -> MakeEngine:
        if request.param == "local":
            shared = LocalEngine()
            return lambda: shared
        address: str = request.getfixturevalue("nats")
        return lambda: open_engine(address)


@pytest.mark.anyio
async def test_d3_a_stream_that_cannot_be_used_is_reported(own_nats: NatsServer, nats: str) -> None:
    name = nats.rpartition("/")[2]
    client = await nats_client.connect(own_nats.url)
    await client.jetstream().add_stream(StreamConfig(name=name, subjects=[f"{name}.other"]))
    assert len(await open_engine(nats).problems()) == 2
    (problem,) = [each for each in await open_engine(nats).problems() if "subjects" in each]
    assert name in problem
    assert "Remove the stream" in problem
    info = await client.jetstream().stream_info(name)
    assert info.config.subjects == [f"{name}.other"], "it was not overwritten"
    await client.close()


@pytest.mark.anyio
async def test_d3_unreadable_messages_do_no_harm(
    own_nats: NatsServer, nats: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = nats.rpartition("/")[2]
    async with opened(lambda: open_engine(nats)) as engine:
        client = await nats_client.connect(own_nats.url)
        for body in (b"", b"{", b"[1]", json.dumps({"a": 1}).encode(), b"\xff"):
            await client.publish(f"{name}.queue.default", body)
        await client.flush()
        await client.close()
        engine.submit(call(1))
        served = Served()
        async with serving(engine, served.deliver):
            await served.until(1)
            await until_waiting(engine, 0)
        assert served.ids == ["x1"]
    assert "cannot be read" in caplog.text


@pytest.mark.slow
@pytest.mark.anyio
async def test_d3_a_node_of_a_cluster_may_die() -> None:
    with nats_cluster() as servers:
        address = ",".join(server.url for server in servers) + "/cluster?replicas=3"
        async with opened(lambda: open_engine(address)) as engine:
            for number in range(100):
                engine.submit(call(number))
            await until_waiting(engine, 100)
            servers[0].stop(kill=True)
            served = Served()
            async with serving(engine, served.deliver):
                async with asyncio.timeout(60):
                    await served.until(100)
            assert {*served.ids} == {f"x{number}" for number in range(100)}


@pytest.mark.anyio
async def test_d3_an_engine_that_the_server_has_shut_out_connects_again(own_nats: NatsServer, nats: str) -> None:
    """The server refuses the credentials of a connection that it had let in: they were revoked, or have expired."""
    async with opened(lambda: open_engine(nats)) as engine, opened(lambda: open_engine(nats)) as other:
        served = Served()
        async with serving(engine, served.deliver):
            own_nats.require("ann", "secret")
            try:
                await until(lambda: not engine.connected and not other.connected)
            finally:
                own_nats.require(None)
            await until(lambda: engine.connected and other.connected)
            other.submit(call(1))
            async with asyncio.timeout(60):
                await served.until(1)
            assert served.ids == ["x1"]


@pytest.mark.anyio
async def test_d3_answers_of_workers_of_other_versions_are_read(own_nats: NatsServer, nats: str) -> None:
    name = nats.rpartition("/")[2]
    status = {"id": "w", "host": "h", "pid": 1, "queues": ["default"], "concurrency": 4, "memory": 7}
    answers = [json.dumps(status).encode(), b"no JSON", b"[]", b'{"id": "old"}']
    client = await nats_client.connect(own_nats.url)

    async def answer(message: Msg) -> None:
        for each in answers:
            await client.publish(message.reply, each)

    await client.subscribe(f"{name}.workers", cb=answer)
    await client.flush()
    async with opened(lambda: open_engine(nats)) as engine, asyncio.timeout(60):
        while not (found := await engine.workers(0.2)):
            pass
        assert [(each.id, each.queues, each.done) for each in found] == [("w", ["default"], 0)]
    await client.close()


@pytest.mark.anyio
async def test_d3_workers_cannot_be_listed_without_a_connection(own_nats: NatsServer, nats: str) -> None:
    async with opened(lambda: open_engine(nats)) as engine:
        own_nats.stop()
        await until(lambda: not engine.connected)
        async with asyncio.timeout(60):
            with pytest.raises(EngineError, match="NATS"):
                await engine.workers()


@pytest.mark.anyio
async def test_d3_an_engine_that_never_connected_can_be_closed() -> None:
    engine = open_engine("nats://127.0.0.1:9")
    await engine.open(lambda: None)
    await asyncio.sleep(0)
    await engine.close()


@pytest.mark.anyio
async def test_d3_a_server_that_is_away_is_reported_soon() -> None:
    async with asyncio.timeout(60):
        (problem,) = await open_engine("nats://127.0.0.1:9").problems()
    assert "127.0.0.1:9 does not answer" in problem


@pytest.mark.anyio
async def test_d3_limits_of_a_stream_of_another_version_are_updated(own_nats: NatsServer, nats: str) -> None:
    name = nats.rpartition("/")[2]
    client = await nats_client.connect(own_nats.url)
    async with opened(lambda: open_engine(nats)):
        info = await client.jetstream().stream_info(name)
    await client.jetstream().update_stream(info.config.evolve(max_msgs=5, description="mine"))
    async with opened(lambda: open_engine(nats)):
        updated = (await client.jetstream().stream_info(name)).config
    assert (updated.max_msgs, updated.description) == (1_000_000, "mine")
    await client.close()


@asynccontextmanager
async def woken_sessions(gateway: Engine) -> AsyncGenerator[list[str | None]]:
    """Serve wakes, and list the sessions that they name."""
    woken: list[str | None] = []

    async def wake(session_id: str | None) -> None:
        woken.append(session_id)

    task = asyncio.create_task(gateway.serve_wakes(wake))
    try:
        yield woken
    finally:
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def worker_and_gateway(address: str) -> AsyncGenerator[tuple[Engine, list[str | None]]]:
    """Open an engine that sends wakes, and another that lists the sessions that they name."""
    async with (
        opened(lambda: open_engine(address)) as worker,
        opened(lambda: open_engine(address)) as gateway,
        woken_sessions(gateway) as woken,
    ):
        yield worker, woken


@pytest.mark.anyio
async def test_d3_wakes_are_kept_while_nats_is_away(own_nats: NatsServer, nats: str) -> None:
    async with worker_and_gateway(nats) as (worker, woken):
        own_nats.stop()
        await until(lambda: not worker.connected)
        for number in range(250):
            worker.wake(f"s{number}")
        own_nats.start()
        await until(lambda: len(woken) == 250)
        assert {*woken} == {f"s{number}" for number in range(250)}


@pytest.mark.anyio
async def test_d3_a_wake_outlives_a_server_that_is_killed_before_it_stored_it(own_nats: NatsServer, nats: str) -> None:
    async with worker_and_gateway(nats) as (worker, woken):
        worker.wake("first")
        await until(lambda: woken == ["first"])
        os.kill(own_nats.pid, signal.SIGSTOP)
        worker.wake("second")
        for _ in range(10):  # the message is sent to a server that does not read it
            await asyncio.sleep(0)
        own_nats.stop(kill=True)
        own_nats.start()
        await until(lambda: "second" in woken)


@pytest.mark.anyio
async def test_d3_many_wakes_that_cannot_be_sent_become_one_for_all_sessions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wake_sender, "MOST_WAITING", 3)
    sent: list[list[str | None]] = []
    connected = asyncio.Event()

    async def publish(body: bytes) -> None:
        sent.append(json.loads(body))

    sender = wake_sender.WakeSender(publish, connected)
    for number in range(5):
        sender.add(f"s{number}")
    connected.set()
    await sender.close(timeout=20)
    assert sent == [[None]]
