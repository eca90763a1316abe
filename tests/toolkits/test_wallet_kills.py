"""`send_transaction_to_wallet` after its process was killed: the wallet is not asked again, and its answer is used.

No handler runs after the answer, since the page follows the transaction. So nothing can be interrupted on the server.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import pytest

from callboard import Runtime
from callboard.toolkits.ethereum import Chain, ethereum_toolset
from callboard.toolkits.ethereum.values import checksum
from tests.toolkits.development_chain import ACCOUNTS, CHAIN_ID, Compiled, DevelopmentChain

pytestmark = pytest.mark.anyio

SOON = 90.0
CHILD = """
import asyncio, json, os, signal, sys
from callboard import Runtime
from callboard.toolkits.ethereum import Chain, ethereum_toolset

async def main():
    store, step, given = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    toolset = ethereum_toolset([Chain(given["chain_id"], ("http://127.0.0.1:1",))], sources=[], etherscan=None)
    async with Runtime([toolset], store=store, recover=step != "answer, and stop before it is used") as runtime:
        session = await runtime.open("s", "ann")
        if step == "ask":
            await session.call("send_transaction_to_wallet", given, call_id="c")
        else:
            [request] = await session.requests()
            await session.answer(request.id, given["answer"])
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def killed_after(store: str, step: str, **given: Any) -> None:
    """Have a process do a step, and kill itself as soon as the step is acknowledged."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", CHILD, store, step, json.dumps(given))
    async with asyncio.timeout(SOON):
        assert await child.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    "answering", [pytest.param("answer", marks=pytest.mark.slow), "answer, and stop before it is used"]
)
async def test_e5_wallet_is_asked_once_although_processes_are_killed(
    sqlite_url: str, chain: DevelopmentChain, contracts: Mapping[str, Compiled], answering: str
) -> None:
    before = chain.nonce(ACCOUNTS[0])
    creation = {"to": None, "value": "0", "data": contracts["Reverter"].code, "description": "A shop"}
    await killed_after(sqlite_url, "ask", chain_id=CHAIN_ID, **creation)
    sent = chain.send(data=creation["data"])
    address = chain.call("eth_getTransactionReceipt", sent)["contractAddress"]
    answer = {"status": "confirmed", "transaction_hash": sent, "contract_address": address}
    await killed_after(sqlite_url, answering, chain_id=CHAIN_ID, answer=answer)
    toolset = ethereum_toolset([Chain(CHAIN_ID, (chain.url,))], sources=[], etherscan=None)
    async with Runtime([toolset], store=sqlite_url) as runtime:
        session = await runtime.open("s", "ann")
        again = await session.call("send_transaction_to_wallet", {"chain_id": CHAIN_ID, **creation}, call_id="c")
        outcome = await session.result(again.execution_id, timeout=SOON)
        assert outcome.value == {**answer, "contract_address": checksum(address), "detail": None}
        assert await session.requests() == []
        kinds: list[str] = []
        async with asyncio.timeout(SOON), aclosing(session.events(0)) as events:
            async for event in events:
                kinds.append(event.kind)
                if event.kind == "tool_result":
                    break
        assert (kinds.count("wallet_tx_request"), kinds.count("wallet_tx_response")) == (1, 1)
    assert chain.nonce(ACCOUNTS[0]) == before + 1
