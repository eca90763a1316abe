"""A tool call that reads from a chain, as a multiple of the bare library calls: encoding, HTTP, JSON-RPC and decoding.

The node is a real development chain. Both sides share the kind of HTTP client and send the same request; the tool call
goes through a session, with validation, events and the encoded result. Wall-clock time counts, because a user waits for
the node too. Calls of both sides alternate one by one, so that the node's state and the machine affect both.
"""

import asyncio
import time
from functools import partial
from statistics import median
from typing import Any

import httpx2
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak

from bench.benchmark import Bound, Data, Options, Table, quartiles
from callboard import Runtime
from callboard.toolkits.ethereum import Chain, ethereum_toolset
from tests.toolkits.development_chain import ACCOUNTS, CHAIN_ID, DevelopmentChain, compiled, development_chain

TITLE = "Reads from an Ethereum chain"
BALANCE, VIEW = "get_account_balance", "call_view_function"


def measure(options: Options) -> dict[str, Any]:
    """Measure a plain read and a call of a contract on a development chain."""
    with development_chain() as chain:
        types = ("string", "string", "uint256")
        token = chain.deploy(compiled()["Token"], types, ("Test", "TEST", 10**24))
        return asyncio.run(_measure(chain, token, 40 if options.quick else 200 * options.rounds))


async def _measure(chain: DevelopmentChain, token: str, calls: int) -> dict[str, Any]:
    holder = ACCOUNTS[0]
    view = {
        "contract_address": token,
        "function_signature": "balanceOf(address) returns (uint256)",
        "arguments": [holder],
    }
    requests: dict[str, dict[str, Any]] = {BALANCE: {"address": holder}, VIEW: view}
    toolset = ethereum_toolset([Chain(CHAIN_ID, (chain.url,))], sources=[])
    found: dict[str, Any] = {}
    async with Runtime([toolset]) as runtime, httpx2.AsyncClient(trust_env=False) as http:
        session = await runtime.open("bench", "bench")

        async def ask(method: str, *parameters: Any) -> str:
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
            return (await http.post(chain.url, json=request)).json()["result"]

        async def bare(name: str) -> int:
            if name == BALANCE:
                return int(await ask("eth_getBalance", holder, "latest"), 16)
            data = (keccak(text="balanceOf(address)")[:4] + encode(["address"], [holder])).hex()
            answer = await ask("eth_call", {"to": token, "data": f"0x{data}"}, "latest")
            return decode(["uint256"], bytes.fromhex(answer[2:]))[0]

        async def tool(name: str, arguments: dict[str, Any]) -> int:
            value = (await session.call(name, {"chain_id": CHAIN_ID, **arguments})).value
            return int(value["balance"]["value"] if name == BALANCE else value["outputs"][0]["value"])

        for name, arguments in requests.items():
            times: dict[str, list[float]] = {"bare": [], "tool": []}
            for number in range(calls + 20):
                start = time.perf_counter()
                expected = await bare(name)
                middle = time.perf_counter()
                assert await tool(name, arguments) == expected
                if number >= 20:  # the first ones open connections and fill caches
                    times["bare"].append(middle - start)
                    times["tool"].append(time.perf_counter() - middle)
            found[name] = times
    return found


def report(data: Data) -> Table:
    """Make one row for each tool."""
    lines: list[list[str]] = []
    for name, times in data.items():
        bare, tool = (quartiles([1e3 * each for each in times[side]]) for side in ("bare", "tool"))
        lines.append([f"`{name}`", bare, tool, f"{_ratio(times):.2f}"])
    return Table(["tool", "bare call, ms (quartiles)", "tool call, ms (quartiles)", "x bare"], lines)


def _ratio(times: Any) -> float:
    return median(times["tool"]) / median(times["bare"])


def _ratio_of(name: str, data: Data) -> float:
    return _ratio(data[name])


BOUNDS = [Bound(f"`{name}` ÷ bare call", 1.2, "x", partial(_ratio_of, name)) for name in (BALANCE, VIEW)]
