"""Gateways and workers for tests: runtimes that share a store and an engine, in one event loop."""

import secrets
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from callboard import Registry, Runtime
from callboard.adapters.engines import LocalEngine
from callboard.execution.engine import Engine
from tests.conftest import without
from tests.nats_servers import NatsServer, nats_server
from tests.servers import Unavailable


@pytest.fixture(scope="session")
def own_nats() -> Iterator[NatsServer]:
    """A NATS server that a test may stop and start."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(nats_server())
        except Unavailable as why:
            without("NATS", why)
        yield server


@pytest.fixture
def nats(own_nats: NatsServer) -> str:
    """The address of a deployment of its own on a running NATS server."""
    own_nats.start()
    return f"{own_nats.url}/t{secrets.token_hex(4)}"


@dataclass
class Deployment:
    """A store and an engine, and the runtimes on them."""

    store: str
    engine: str | Engine
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def gateway(self, tools: Registry, **options: Any) -> Runtime:
        return await self.stack.enter_async_context(self.runtime(tools, **options))

    async def worker(self, tools: Registry, *queues: str, **options: Any) -> Runtime:
        return await self.gateway(tools, queues=queues or ("default",), **options)

    def runtime(self, tools: Registry, **options: Any) -> Runtime:
        return Runtime(tools=tools, store=self.store, engine=self.engine, **options)


OpenDeployment = Callable[[], AbstractAsyncContextManager[Deployment]]


@pytest.fixture(params=["local", "nats"])
def deployment(request: pytest.FixtureRequest) -> OpenDeployment:
    """Opens a deployment: a SQLite file and the engine of one process, or PostgreSQL and NATS."""
    if request.param == "local":
        store, engine = request.getfixturevalue("sqlite_url"), LocalEngine()
    else:
        store, engine = request.getfixturevalue("emptied_database"), request.getfixturevalue("nats")

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Deployment]:
        made = Deployment(store, engine)
        async with made.stack:
            yield made

    return opened
