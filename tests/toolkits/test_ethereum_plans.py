"""Plans for Ethereum on a real development chain: sources, compiler, simulation, broadcast and confirmation."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import encode

from callboard import Runtime, Session, Tool, tool
from callboard.toolkits.ethereum import Chain, ContractFolder, Solc, ethereum_plan_tools, ethereum_toolset
from callboard.toolkits.ethereum.compiler import read_output
from callboard.toolkits.ethereum.rpc import RpcClient
from tests.toolkits.development_chain import ACCOUNTS, CHAIN_ID, HERE, KEYS, DevelopmentChain

pytestmark = pytest.mark.anyio

SOON = 90.0
SOURCE = (HERE / "contracts" / "Token.sol").read_text()
SUPPLY = 10**24
HUNDRED = 100 * 10**18
ANN, BOB = ACCOUNTS[0], ACCOUNTS[1]
KEY = {"chain_id": CHAIN_ID, "broadcast": "development_key"}
WALLET = {"chain_id": CHAIN_ID, "broadcast": "wallet", "from_address": ANN}


def deployment(how: dict[str, Any], source: str | None = SOURCE) -> dict[str, Any]:
    return {
        "name": "token",
        "description": "Deploy the token TEST",
        "operations": [{"kind": "deploy", "contract": "Token", "arguments": ["Test", "TEST", str(SUPPLY)], **how}],
        "contracts": [{"name": "Token", "source_code": source}],
    }


def transfer(how: dict[str, Any], amount: int = HUNDRED, name: str = "transfer") -> dict[str, Any]:
    operation = {
        "kind": "send",
        "to": "{{token.0.contract_address}}",
        "function_signature": "transfer(address,uint256)",
        "arguments": [BOB, str(amount)],
        **how,
    }
    return {"name": name, "description": "Send tokens to Bob", "operations": [operation], "dependencies": ["token"]}


def balances(*after: str) -> dict[str, Any]:
    def of(holder: str) -> dict[str, Any]:
        token = "{{token.0.contract_address}}"
        arguments = {"chain_id": CHAIN_ID, "token_address": token, "holder_address": holder}
        return {"kind": "call", "tool": "get_erc20_balance", "arguments": json.dumps(arguments)}

    return {
        "name": "balances",
        "description": "Read the balances",
        "operations": [of(ANN), of(BOB)],
        "dependencies": ["token", *after],
    }


@asynccontextmanager
async def opened(
    chain: DevelopmentChain, compiler: Solc, store: str, sources: Sequence[Any] = (), *more: Tool
) -> AsyncGenerator[Session]:
    configured = Chain(CHAIN_ID, (chain.url,), development=True, poll_seconds=0.05)
    toolset = ethereum_toolset([configured], sources=sources, etherscan=None, development_key=KEYS[0])
    tools = [toolset, *ethereum_plan_tools(toolset.client, compiler), *more]
    async with asyncio.timeout(SOON), Runtime(tools, store=store) as runtime:
        yield await runtime.open("s", "ann")


async def set_plan(session: Session, *groups: dict[str, Any]) -> str:
    outcome = await session.call("set_execution_plan", {"groups": list(groups)})
    assert outcome.error is None, outcome.error
    return outcome.value["plan_id"]


async def execute(session: Session, plan_id: str) -> Any:
    started = await session.call("execute_plan", {"plan_id": plan_id})
    outcome = await session.result(started.execution_id)
    assert outcome.error is None, outcome.error
    return {each["name"]: each for each in outcome.value["groups"]}


def held(balance: Any) -> int:
    return int(balance["balance"]["value"])


async def test_k3_token_is_deployed_transferred_and_read(chain: DevelopmentChain, compiler: Solc) -> None:
    before = chain.nonce(ANN)
    async with opened(chain, compiler, "memory://") as session:
        plan_id = await set_plan(session, deployment(KEY), transfer(KEY), balances("transfer"))
        groups = await execute(session, plan_id)
        assert {name: each["state"] for name, each in groups.items()} == {
            "token": "done",
            "transfer": "done",
            "balances": "done",
        }, groups
        assert [held(each) for each in groups["balances"]["results"]] == [SUPPLY - HUNDRED, HUNDRED]
        assert chain.nonce(ANN) == before + 2
        stages = [
            event.data["stage"]
            for event in session.board.read(0)
            if event.kind == "tool_progress" and event.data["tool"] == "execute_plan"
        ]
        shown = [stage.removeprefix("token: ") for stage in stages if stage.startswith("token: ")]
        assert list(dict.fromkeys(shown)) == [
            "in progress",
            "sources",
            "compile",
            "simulate",
            "broadcast",
            "confirm",
            "done",
        ]


async def test_k3_source_is_fetched_by_name_from_a_folder(
    chain: DevelopmentChain, compiler: Solc, tmp_path: Path
) -> None:
    (tmp_path / "abi.json").write_text("[]")
    (tmp_path / "Token.sol").write_text(SOURCE)
    entry = {"name": "Token", "abi": "abi.json", "sources": ["Token.sol"]}
    (tmp_path / "index.json").write_text(json.dumps([entry]))
    async with opened(chain, compiler, "memory://", [ContractFolder(tmp_path)]) as session:
        groups = await execute(session, await set_plan(session, deployment(KEY, source=None)))
        assert groups["token"]["state"] == "done", groups


async def test_k3_contract_of_a_name_that_several_files_have_is_named_with_its_file(
    chain: DevelopmentChain, compiler: Solc, tmp_path: Path
) -> None:
    mock = "pragma solidity ^0.8.0; contract Token { constructor(string memory, string memory, uint256) {} }"
    (tmp_path / "abi.json").write_text("[]")
    (tmp_path / "Token.sol").write_text(SOURCE)
    (tmp_path / "mocks").mkdir()
    (tmp_path / "mocks" / "Token.sol").write_text(mock)
    entry = {"name": "Token", "abi": "abi.json", "sources": ["Token.sol", "mocks/Token.sol"]}
    (tmp_path / "index.json").write_text(json.dumps([entry]))
    before = chain.nonce(ANN)
    async with opened(chain, compiler, "memory://", [ContractFolder(tmp_path)]) as session:
        groups = await execute(session, await set_plan(session, deployment(KEY, source=None)))
        assert "Name the one to deploy: Token.sol:Token, mocks/Token.sol:Token." in groups["token"]["error"]
        assert chain.nonce(ANN) == before
        named = deployment(KEY, source=None)
        named["operations"][0]["contract"] = named["contracts"][0]["name"] = "Token.sol:Token"
        groups = await execute(session, await set_plan(session, named, balances()))
        assert held(groups["balances"]["results"][0]) == SUPPLY, groups


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("contract Token { broken", "operations[0]: The contract does not compile: "),
        ("pragma solidity ^0.8.0; contract Other {}", "The source code has no contract 'Token', but Other."),
        ("pragma solidity ^0.8.0; interface Token {}", "Token is abstract or an interface"),
        (
            "pragma solidity ^0.8.0; contract Token { constructor(string memory, string memory, uint256) {"
            ' revert("the shop is closed"); } }',
            "The contract reverted: the shop is closed.",
        ),
        ("pragma solidity ^0.8.0; contract Token {}", "constructor() takes 0 arguments, not 3."),
        ('import "/etc/passwd"; contract Token {}', "The contract does not compile: "),
    ],
)
async def test_k3_contract_that_cannot_be_deployed_fails_its_group_and_sends_nothing(
    chain: DevelopmentChain, compiler: Solc, source: str, message: str
) -> None:
    before = chain.nonce(ANN)
    async with opened(chain, compiler, "memory://") as session:
        groups = await execute(session, await set_plan(session, deployment(KEY, source), transfer(KEY)))
        assert message in groups["token"]["error"]
        assert "root:" not in groups["token"]["error"], "files of the server are not read"
        assert groups["transfer"]["blocked_by"] == "token"
    assert chain.nonce(ANN) == before


async def test_k3_reference_to_a_list_is_an_argument(chain: DevelopmentChain, compiler: Solc) -> None:
    @tool(idempotent=True)
    async def winners() -> dict[str, list[str]]:
        """Return who wins."""
        return {"accounts": [ANN, BOB]}

    groups = [
        {"name": "winners", "description": "Draw", "operations": [{"kind": "call", "tool": "winners"}]},
        {
            "name": "pay",
            "description": "Pay the winners",
            "dependencies": ["winners"],
            "operations": [
                {
                    "kind": "send",
                    "to": BOB,
                    "function_signature": "pay(address[] winners, string note)",
                    "arguments": ["{{winners.0.accounts}}", "{{winners.0}}"],
                    **KEY,
                }
            ],
        },
    ]
    async with opened(chain, compiler, "memory://", (), winners) as session:
        made = await execute(session, await set_plan(session, *groups))
        assert made["pay"]["state"] == "done", made
    sent = chain.call("eth_getTransactionByHash", made["pay"]["results"][0]["transaction_hash"])
    values = [[ANN.lower(), BOB.lower()], json.dumps({"accounts": [ANN, BOB]})]
    assert sent["input"][10:] == encode(["address[]", "string"], values).hex()


async def test_k3_transaction_that_would_be_reverted_is_not_sent(chain: DevelopmentChain, compiler: Solc) -> None:
    before = chain.nonce(ANN)
    async with opened(chain, compiler, "memory://") as session:
        plan_id = await set_plan(session, deployment(KEY), transfer(KEY, 2 * SUPPLY), transfer(KEY, name="other"))
        groups = await execute(session, plan_id)
        assert "reverted" in groups["transfer"]["error"]
        assert groups["other"]["state"] == "done"
    assert chain.nonce(ANN) == before + 2


async def test_k3_wallet_signs_and_a_rejection_can_be_tried_again(chain: DevelopmentChain, compiler: Solc) -> None:
    before = chain.nonce(ANN)
    async with opened(chain, compiler, "memory://") as session:
        plan_id = await set_plan(session, deployment(WALLET), transfer(WALLET), balances("transfer"))
        started = await session.call("execute_plan", {"plan_id": plan_id})
        await answer_with_wallet(chain, session)
        [request] = await asked(session)
        await session.answer(request.id, {"status": "rejected"})
        groups = {each["name"]: each for each in (await session.result(started.execution_id)).value["groups"]}
        assert (groups["token"]["state"], groups["transfer"]["state"]) == ("done", "failed")
        assert "The person rejected the transaction in the wallet. Nothing was sent." in groups["transfer"]["error"]
        started = await session.call("execute_plan", {"plan_id": plan_id})
        await answer_with_wallet(chain, session)
        groups = {each["name"]: each for each in (await session.result(started.execution_id)).value["groups"]}
        assert [held(each) for each in groups["balances"]["results"]] == [SUPPLY - HUNDRED, HUNDRED]
    assert chain.nonce(ANN) == before + 2


async def test_k3_transaction_that_a_wallet_sent_for_a_cancelled_call_is_found_on_the_chain(
    chain: DevelopmentChain, compiler: Solc
) -> None:
    before = chain.nonce(ANN)
    async with opened(chain, compiler, "memory://") as session:
        plan_id = await set_plan(session, deployment(WALLET))
        started = await session.call("execute_plan", {"plan_id": plan_id})
        [request] = await asked(session)
        sent = chain.send(data=request.payload["data"])
        await session.cancel(started.execution_id)
        assert (await session.result(started.execution_id)).status == "cancelled"
        groups = await execute(session, plan_id)
        assert groups["token"]["results"][0]["transaction_hash"] == sent
    assert chain.nonce(ANN) == before + 1


async def test_k3_transaction_is_searched_if_the_wallet_failed_without_its_hash(
    chain: DevelopmentChain, compiler: Solc
) -> None:
    """A wallet that loses its connection reports a failure, although the transaction was sent."""
    before = chain.nonce(ANN)
    async with opened(chain, compiler, "memory://") as session:
        plan_id = await set_plan(session, deployment(WALLET))
        started = await session.call("execute_plan", {"plan_id": plan_id})
        [request] = await asked(session)
        sent = chain.send(data=request.payload["data"])
        await session.answer(request.id, {"status": "failed", "detail": "The connection was lost"})
        [group] = (await session.result(started.execution_id)).value["groups"]
        assert "it is not known whether the transaction was sent" in group["error"]
        groups = await execute(session, plan_id)
        assert groups["token"]["results"][0]["transaction_hash"] == sent
    assert chain.nonce(ANN) == before + 1


async def test_k3_wallet_that_sent_nothing_for_a_cancelled_call_is_asked_again(
    chain: DevelopmentChain, compiler: Solc
) -> None:
    async with opened(chain, compiler, "memory://") as session:
        plan_id = await set_plan(session, deployment(WALLET))
        started = await session.call("execute_plan", {"plan_id": plan_id})
        await asked(session)
        chain.send(to=BOB, value="0x1")
        await session.cancel(started.execution_id)
        await session.result(started.execution_id)
        started = await session.call("execute_plan", {"plan_id": plan_id})
        await answer_with_wallet(chain, session)
        assert (await session.result(started.execution_id)).value["state"] == "done"


@pytest.mark.parametrize(
    ("code", "is_asked"), [("0x6001", False), ("0xef0100" + "00" * 19 + "07", True)], ids=["contract", "delegation"]
)
async def test_k3_account_that_is_a_contract_is_not_asked_again(
    chain: DevelopmentChain, compiler: Solc, code: str, is_asked: bool
) -> None:
    """A bundler sends the transactions of such an account, so that its nonce does not tell whether there was one."""
    async with opened(chain, compiler, "memory://") as session:
        plan_id = await set_plan(session, deployment(WALLET))
        started = await session.call("execute_plan", {"plan_id": plan_id})
        await asked(session)
        await session.cancel(started.execution_id)
        await session.result(started.execution_id)
        chain.call("hardhat_setCode", ANN, code)
        try:
            started = await session.call("execute_plan", {"plan_id": plan_id})
            if is_asked:
                [request] = await asked(session)
                await session.answer(request.id, {"status": "rejected"})
            [group] = (await session.result(started.execution_id)).value["groups"]
        finally:
            chain.call("hardhat_setCode", ANN, "0x")
        assert ("rejected the transaction" in group["error"]) == is_asked
        assert ("It is not known whether the wallet sent this transaction" in group["error"]) != is_asked


async def test_k3_transaction_on_the_chain_counts_for_one_of_two_equal_operations(
    chain: DevelopmentChain, compiler: Solc
) -> None:
    def payment(name: str) -> dict[str, Any]:
        operation = {"kind": "send", "to": BOB, "value": "7", **WALLET}
        return {"name": name, "description": "Pay Bob", "operations": [operation]}

    before = chain.nonce(ANN)
    async with opened(chain, compiler, "memory://") as session:
        plan_id = await set_plan(session, payment("a"), payment("b"))
        started = await session.call("execute_plan", {"plan_id": plan_id})
        while len(await session.requests()) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        sent = [chain.send(to=BOB, value="0x7")]
        await session.cancel(started.execution_id)
        await session.result(started.execution_id)
        started = await session.call("execute_plan", {"plan_id": plan_id})
        [request] = await asked(session)
        sent.append(chain.send(to=BOB, value="0x7"))
        await session.answer(request.id, {"status": "confirmed", "transaction_hash": sent[1]})
        groups = (await session.result(started.execution_id)).value["groups"]
    assert sorted(each["results"][0]["transaction_hash"] for each in groups) == sorted(sent)
    assert chain.nonce(ANN) == before + 2


async def asked(session: Session) -> list[Any]:
    while not (requests := await session.requests()):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return requests


async def answer_with_wallet(chain: DevelopmentChain, session: Session) -> None:
    """Send the transaction of the open request, as a wallet does."""
    [request] = await asked(session)
    fields = {name: request.payload[name] for name in ("to", "data") if request.payload[name] is not None}
    sent = chain.send(**fields)
    await session.answer(request.id, {"status": "confirmed", "transaction_hash": sent})


async def test_k3_nonce_that_another_process_used_is_replaced(
    chain: DevelopmentChain, compiler: Solc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between signing and sending, another process sends with the same nonce."""
    real, interfered = RpcClient.call, False

    async def call(self: RpcClient, method: str, *parameters: Any) -> Any:
        nonlocal interfered
        if method == "eth_sendRawTransaction" and not interfered:
            interfered = True
            chain.send(to=BOB, value="0x1")
        return await real(self, method, *parameters)

    monkeypatch.setattr(RpcClient, "call", call)
    before = chain.nonce(ANN)
    async with opened(chain, compiler, "memory://") as session:
        groups = await execute(session, await set_plan(session, deployment(KEY)))
        assert groups["token"]["state"] == "done", groups
    assert chain.nonce(ANN) == before + 2


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (b"", "cannot be read"),
        (b"{}", "cannot be read"),
        (b'{"contracts": {"a": {"B": {"abi": 1}}}}', "cannot be read"),
        (b'>>> hello\n{"errors": [{"severity": "error", "message": "no"}]}', "does not compile: no"),
    ],
)
def test_k3_output_of_the_compiler_that_cannot_be_read_is_an_error(output: bytes, message: str) -> None:
    with pytest.raises(Exception, match=message):
        read_output(output)


async def test_k3_missing_compiler_is_told(chain: DevelopmentChain) -> None:
    async with opened(chain, Solc("no-such-compiler"), "memory://") as session:
        groups = await execute(session, await set_plan(session, deployment(KEY)))
        assert "There is no Solidity compiler. Set CALLBOARD_ETHEREUM_COMPILER" in groups["token"]["error"]
