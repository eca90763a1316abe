"""Transactions of plans that are sped up or cancelled in the wallet, on a real development chain."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from callboard import Runtime, Session
from callboard.toolkits.ethereum import Chain, Solc, ethereum_plan_tools, ethereum_toolset
from tests.toolkits.development_chain import ACCOUNTS, CHAIN_ID, DevelopmentChain
from tests.toolkits.test_ethereum_plans import asked, set_plan

pytestmark = pytest.mark.anyio

SOON = 90.0
ANN, BOB = ACCOUNTS[0], ACCOUNTS[1]
GWEI = 10**9


class FastClock:
    """A clock on which waiting takes no time. What happens meanwhile is awaited with `waits`."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.waits = 0
        self.changed = asyncio.Event()

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits += 1
        self.changed.set()
        await asyncio.sleep(0)

    async def has_waited(self) -> None:
        """Wait until the plan has looked at the chain once more."""
        for _ in range(2):
            self.changed.clear()
            await self.changed.wait()


class Paying:
    """A session with a plan whose only operation pays Bob 7 wei from the wallet."""

    def __init__(self, chain: DevelopmentChain, session: Session, clock: FastClock, plan_id: str) -> None:
        self.chain = chain
        self.session = session
        self.clock = clock
        self.plan_id = plan_id

    async def execute(self) -> str:
        return (await self.session.call("execute_plan", {"plan_id": self.plan_id})).execution_id

    async def group_of(self, execution_id: str) -> Any:
        [group] = (await self.session.result(execution_id)).value["groups"]
        return group

    async def answer(self, transaction_hash: str) -> None:
        [request] = await asked(self.session)
        await self.session.answer(request.id, {"status": "failed", "transaction_hash": transaction_hash})

    def send(self, price: int, value: int = 7, nonce: int | None = None) -> str:
        fields = {} if nonce is None else {"nonce": hex(nonce)}
        return self.chain.send(to=BOB, value=hex(value), gasPrice=hex(price * GWEI), gas=hex(21_000), **fields)


@asynccontextmanager
async def paying(chain: DevelopmentChain) -> AsyncGenerator[Paying]:
    clock = FastClock()
    toolset = ethereum_toolset([Chain(CHAIN_ID, (chain.url,), development=True)], sources=[], clock=clock)
    tools = [toolset, *ethereum_plan_tools(toolset.client, Solc("no-compiler"))]
    payment = {"kind": "send", "to": BOB, "value": "7", "chain_id": CHAIN_ID, "from_address": ANN}
    group = {"name": "pay", "description": "Pay Bob", "operations": [payment]}
    async with asyncio.timeout(SOON), Runtime(tools) as runtime:
        session = await runtime.open("s", "ann")
        yield Paying(chain, session, clock, await set_plan(session, group))


async def test_k3_transaction_that_was_sped_up_in_the_wallet_is_found(chain: DevelopmentChain) -> None:
    async with paying(chain) as plan:
        before = chain.nonce(ANN)
        with chain.without_mining():
            old = plan.send(price=20)
            execution = await plan.execute()
            await plan.answer(old)
            await plan.clock.has_waited()  # the nonce is noted
            new = plan.send(price=40, nonce=before)
            chain.mine()
            group = await plan.group_of(execution)
        assert [each["transaction_hash"] for each in group["results"]] == [new], group
        assert chain.nonce(ANN) == before + 1


async def test_k3_transaction_that_was_cancelled_in_the_wallet_is_asked_for_again(chain: DevelopmentChain) -> None:
    async with paying(chain) as plan:
        before = chain.nonce(ANN)
        with chain.without_mining():
            old = plan.send(price=20)
            execution = await plan.execute()
            await plan.answer(old)
            await plan.clock.has_waited()
            plan.send(price=40, nonce=before, value=0)
            chain.mine()
            group = await plan.group_of(execution)
        assert f"The transaction {old} was cancelled in the wallet" in group["error"]
        execution = await plan.execute()
        await asked(plan.session)
        new = plan.send(price=40)
        await plan.answer(new)
        assert (await plan.group_of(execution))["results"][0]["transaction_hash"] == new


async def test_k3_old_hash_of_a_transaction_that_was_sped_up_before_the_answer_is_replaced(
    chain: DevelopmentChain,
) -> None:
    """The person answers by hand, with a hash that no node knows any more."""
    async with paying(chain) as plan:
        execution = await plan.execute()
        await asked(plan.session)
        new = plan.send(price=40)
        await plan.answer("0x" + "a" * 64)
        group = await plan.group_of(execution)
        assert [each["transaction_hash"] for each in group["results"]] == [new], group


async def test_k3_transaction_that_may_be_replaced_fails_with_what_to_check_and_is_not_sent_again(
    chain: DevelopmentChain,
) -> None:
    async with paying(chain) as plan:
        execution = await plan.execute()
        await asked(plan.session)
        plan.send(price=40, value=0)
        await plan.answer("0x" + "a" * 64)
        for _ in range(2):
            began = plan.clock.now
            group = await plan.group_of(execution)
            assert f"The nodes do not know the transaction 0x{'a' * 64}." in group["error"]
            assert f"Check the history of {ANN}." in group["error"]
            assert plan.clock.now - began < 600.0
            execution = await plan.execute()
        await plan.group_of(execution)
        assert await plan.session.requests() == []


async def test_k3_unknown_transaction_of_an_account_that_sent_nothing_is_awaited(chain: DevelopmentChain) -> None:
    async with paying(chain) as plan:
        execution = await plan.execute()
        await plan.answer("0x" + "a" * 64)
        began = plan.clock.now
        group = await plan.group_of(execution)
        assert "The nodes do not know the transaction" in group["error"]
        assert plan.clock.now - began >= 3_600.0
