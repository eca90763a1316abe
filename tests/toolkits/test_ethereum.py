"""The Ethereum toolkit on a real development chain, with contracts that are compiled here."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from eth_utils.crypto import keccak

from callboard import AnswerInvalid, Runtime, Session, SettingsError, ToolError
from callboard.testing import ManualClock
from callboard.toolkits.ethereum import Chain, ContractFolder, EthereumToolset, Standards, ethereum_toolset
from callboard.toolkits.ethereum.send_tools import NO_CODE
from callboard.toolkits.ethereum.signature import parse_signature
from callboard.toolkits.ethereum.transactions import read_receipt
from callboard.toolkits.ethereum.values import checksum
from tests.toolkits.development_chain import ACCOUNTS, CHAIN_ID, KEYS, Compiled, DevelopmentChain

pytestmark = pytest.mark.anyio

SUPPLY = 10**24
NOBODY = "0x000000000000000000000000000000000000dEaD"
SOON = 90.0


@pytest.fixture(scope="module")
def token(chain: DevelopmentChain, contracts: Mapping[str, Compiled]) -> str:
    types = ("string", "string", "uint256")
    return checksum(chain.deploy(contracts["Token"], types, ("Test token", "TEST", SUPPLY)))


@pytest.fixture(scope="module")
def reverter(chain: DevelopmentChain, contracts: Mapping[str, Compiled]) -> str:
    return checksum(chain.deploy(contracts["Reverter"]))


@pytest.fixture
def folder(tmp_path: Path, contracts: Mapping[str, Compiled], reverter: str) -> ContractFolder:
    (tmp_path / "abi.json").write_text(json.dumps({"abi": contracts["Reverter"].abi}))
    (tmp_path / "Reverter.sol").write_text(contracts["Reverter"].source)
    entry = {
        "name": "Reverter",
        "abi": "abi.json",
        "sources": ["Reverter.sol"],
        "chain_id": CHAIN_ID,
        "address": reverter,
        "protocol": "Shop",
        "version": "2",
    }
    (tmp_path / "index.json").write_text(json.dumps([entry]))
    return ContractFolder(tmp_path)


@pytest.fixture
def toolset(chain: DevelopmentChain, folder: ContractFolder) -> EthereumToolset:
    return ethereum_toolset(
        [Chain(CHAIN_ID, (chain.url,), development=True)],
        sources=[folder, Standards()],
        etherscan=None,
    )


class Caller:
    """A session whose calls return values, or raise errors."""

    def __init__(self, session: Session) -> None:
        self.session = session

    async def __call__(self, name: str, /, **arguments: Any) -> Any:
        given = arguments if name == "encode_function_call" else {"chain_id": CHAIN_ID, **arguments}
        outcome = await self.session.call(name, given)
        if not outcome.done:  # it took longer than its inline budget
            outcome = await self.session.result(outcome.execution_id, timeout=SOON)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    async def refused(self, name: str, /, **arguments: Any) -> ToolError:
        with pytest.raises(ToolError) as caught:
            await self(name, **arguments)
        return caught.value


@pytest.fixture
async def call(toolset: EthereumToolset) -> AsyncGenerator[Caller]:
    async with Runtime([toolset], workers=toolset.workers) as runtime:
        yield Caller(await runtime.open("s", "ann"))


# Accounts and tokens


async def test_k2_balances_are_exact(chain: DevelopmentChain, call: Caller, token: str) -> None:
    account = ACCOUNTS[3]
    found = await call("get_account_balance", address=account.lower())
    wei = str(int(chain.call("eth_getBalance", account, "latest"), 16))
    assert found["address"] == account, "with its checksum"
    assert found["balance"] == {"value": wei, "unit": "wei", "decimal": "10000", "symbol": "ETH"}
    found = await call("get_erc20_balance", token_address=token, holder_address=ACCOUNTS[0])
    assert found["balance"]["value"].isdecimal()
    assert (found["balance"]["symbol"], found["decimals"]) == ("TEST", 18)
    assert (await call("get_erc20_balance", token_address=token, holder_address=NOBODY))["balance"]["value"] == "0"


async def test_k2_account_info_of_a_person_and_a_contract(call: Caller, token: str) -> None:
    found = await call("get_account_info", address=ACCOUNTS[0])
    assert (found["is_contract"], found["code_size"], found["nonce"] > 0) == (False, 0, True)
    found = await call("get_account_info", address=token)
    assert (found["is_contract"], found["nonce"], found["code_size"] > 500) == (True, 1, True)


async def test_k2_there_is_no_token_at_an_account(call: Caller, reverter: str) -> None:
    for address in (ACCOUNTS[1], reverter):
        error = await call.refused("get_erc20_balance", token_address=address, holder_address=ACCOUNTS[0])
        assert (error.category, "no ERC-20 token" in error.message) == ("not_found", True)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92267", "checksum"),
        ("0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "checksum"),
        ("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x"),
        ("0x12", "0x"),
        ("vitalik.eth", "0x"),
    ],
)
async def test_k2_wrong_addresses_are_refused(call: Caller, address: str, reason: str) -> None:
    error = await call.refused("get_account_balance", address=address)
    assert error.category == "validation"
    assert reason in json.dumps(error.to_model())
    assert "address" in json.dumps(error.to_model())


async def test_k2_history_is_paged_and_says_what_was_searched(chain: DevelopmentChain, call: Caller) -> None:
    sender, receiver = ACCOUNTS[2], "0x00000000000000000000000000000000000A11Ce"
    with chain.snapshot():
        sent = [chain.send(**{"from": sender, "to": receiver, "value": hex(n)}) for n in range(1, 6)]
        first = await call("get_account_transaction_history", address=sender, limit=3)
        assert [each["hash"] for each in first["transactions"]] == sent[:1:-1]
        assert (first["source"], first["next_offset"], first["current_nonce"]) == ("blocks", 3, chain.nonce(sender))
        newest = first["transactions"][0]
        assert (newest["direction"], newest["value"]["value"], newest["to_address"]) == (
            "sent",
            "5",
            checksum(receiver.lower()),
        )
        second = await call("get_account_transaction_history", address=sender, limit=3, offset=3, current_nonce=5)
        assert [each["hash"] for each in second["transactions"]][:2] == sent[1::-1]
        received = await call("get_account_transaction_history", address=receiver.lower())
        assert {each["direction"] for each in received["transactions"]} == {"received"}
        chain.mine(110)
        later = await call("get_account_transaction_history", address=receiver.lower())
        assert (later["transactions"], later["complete"]) == ([], False)
        assert "were searched" in later["note"]


# Calls


async def test_k2_view_functions_return_every_kind_of_value(call: Caller, reverter: str, token: str) -> None:
    found = await call("call_view_function", contract_address=reverter, function_signature="order()")
    made, identifier, is_open, balance = (each["value"] for each in found["outputs"])
    assert made == {"buyer": reverter, "amounts": [str(2**256 - 1), "1"], "note": "grüß dich"}
    assert (identifier, is_open, balance) == ("0x" + "0" * 63 + "1", True, "-5")
    found = await call(
        "call_view_function", contract_address=token, function_signature="balanceOf(address)", arguments=[NOBODY]
    )
    assert found["outputs"] == [{"name": "", "type": "uint256", "value": "0"}], "from the standard"
    error = await call.refused("call_view_function", contract_address=ACCOUNTS[1], function_signature="count()")
    assert error.category == "not_found"


@pytest.mark.parametrize(
    ("function", "kind", "reason"),
    [
        ("withReason()", "reason", "the shop is closed"),
        ("withoutReason()", "none", "no reason was given"),
        ("withAssert()", "panic", "panic 0x01: an assertion failed"),
        ("withOverflow()", "panic", "panic 0x11"),
        ("withDivision()", "panic", "panic 0x12"),
        ("withIndex()", "panic", "panic 0x32"),
        ("withCustomError()", "custom", "Unauthorized(caller=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, code=7"),
        ("withLongReason()", "reason", ""),
        ("missing()", "none", "no reason was given"),
    ],
)
async def test_k2_reverts_are_decoded(call: Caller, reverter: str, function: str, kind: str, reason: str) -> None:
    arguments = {"function_signature": function, "from_address": ACCOUNTS[0]}
    found = await call("simulate_contract_call", to=reverter, **arguments)
    assert found["success"] is False
    assert found["revert"]["kind"] == kind
    assert reason in found["revert"]["reason"]
    assert len(json.dumps(found)) < 2_000
    error = await call.refused("call_view_function", contract_address=reverter, **arguments)
    assert (error.category, error.details["error"], error.details["revert"]["kind"]) == ("execution", "reverted", kind)
    assert reason in error.message


async def test_k2_custom_error_without_an_abi_has_its_data(chain: DevelopmentChain, reverter: str) -> None:
    toolset = ethereum_toolset([Chain(CHAIN_ID, (chain.url,))], sources=[])
    async with Runtime([toolset]) as runtime:
        call = Caller(await runtime.open("s", "ann"))
        found = await call("simulate_contract_call", to=reverter, function_signature="withCustomError()")
    assert found["revert"]["kind"] == "unknown"
    assert found["revert"]["data"].startswith(found["revert"]["error"])


async def test_k2_invalid_instruction_is_no_revert(call: Caller, reverter: str) -> None:
    error = await call.refused(
        "call_view_function", contract_address=reverter, function_signature="withInvalidOpcode()"
    )
    assert error.category == "execution"
    assert error.details["error"] in ("invalid_execution", "reverted")


async def test_k2_simulation_returns_values_and_gas(chain: DevelopmentChain, call: Caller, token: str) -> None:
    before = chain.nonce(ACCOUNTS[0])
    found = await call(
        "simulate_contract_call",
        to=token,
        function_signature="transfer(address,uint256)",
        arguments=[NOBODY, "5"],
        from_address=ACCOUNTS[0],
    )
    assert (found["success"], found["outputs"][0]["value"], found["gas_estimate"] > 21_000) == (True, True, True)
    assert chain.nonce(ACCOUNTS[0]) == before, "nothing was sent"
    found = await call(
        "simulate_contract_call",
        to=token,
        function_signature="transfer(address,uint256)",
        arguments=[NOBODY, "5"],
        from_address=ACCOUNTS[1],
    )
    assert found["revert"]["error"] == "ERC20InsufficientBalance(address,uint256,uint256)"
    assert [each["value"] for each in found["revert"]["arguments"]] == [ACCOUNTS[1], "0", "5"]


# Contracts


async def test_k2_contracts_are_found_by_address_and_by_description(call: Caller, reverter: str) -> None:
    for query in ({"address": reverter.lower()}, {"name": "reverter"}, {"protocol": "shop", "version": "2"}):
        found = await call("get_contract_abi", **query)
        assert found["contract"]["source"] == "folder"
        assert "function increase(string label) payable returns (uint256)" in found["functions"]
        assert "error Unauthorized(address caller, uint256 code, string reason)" in found["errors"]
        code = await call("get_contract_source_code", **query, max_characters=200)
        assert code["text"].startswith("// SPDX")
        assert (code["path"], code["next_start"]) == ("Reverter.sol", 200)
        assert "not trusted" in code["notice"]
    found = await call("get_contract_abi", contract_type="erc721", kind="events")
    assert (found["contract"]["source"], found["functions"], len(found["events"])) == ("standard", [], 3)
    assert (await call.refused("get_contract_abi", name="nothing")).category == "not_found"
    assert (await call.refused("get_contract_abi")).category == "validation"
    assert (await call.refused("get_contract_source_code", name="Reverter", path="../x")).category == "not_found"


async def test_k2_code_and_its_size(chain: DevelopmentChain, call: Caller, token: str) -> None:
    code = chain.call("eth_getCode", token, "latest")
    size = (len(code) - 2) // 2
    assert (await call("get_contract_code_size", address=token))["size"] == size
    found = await call("get_contract_code", address=token, max_bytes=100)
    assert (found["code"], found["size"], found["next_start"]) == (code[:202], size, 100)
    rest = await call("get_contract_code", address=token, start=100, max_bytes=24_576)
    assert found["code"] + rest["code"][2:] == code
    assert (await call("get_contract_code_size", address=ACCOUNTS[0]))["is_contract"] is False


# Calldata, logs, transactions and blocks


async def test_k2_transaction_its_calldata_logs_and_block(chain: DevelopmentChain, call: Caller, token: str) -> None:
    made = await call("encode_function_call", function_signature="transfer(address,uint256)", arguments=[NOBODY, 7])
    assert made["selector"] == "0xa9059cbb"
    sent = chain.send(to=token, data=made["data"])
    found = await call("get_transaction_details", transaction_hash=sent.upper().replace("0X", "0x"))
    assert (found["status"], found["to_address"], found["data"]) == ("succeeded", token, made["data"])
    assert int(found["fee"]["value"]) == found["gas_used"] * int(
        chain.call("eth_getTransactionReceipt", sent)["effectiveGasPrice"], 16
    )
    decoded = await call("decode_calldata", data=found["data"], contract_address=token)
    assert [each["value"] for each in decoded["arguments"]] == [NOBODY, "7"]
    logs = await call("decode_logs", transaction_hash=sent)
    (log,) = logs["logs"]
    assert log["event"] == "Transfer(address indexed from, address indexed to, uint256 value)"
    assert [each["value"] for each in log["arguments"]] == [ACCOUNTS[0], NOBODY, "7"]
    block = await call("get_block_details", block=found["block_hash"])
    assert (block["number"], block["transactions"]) == (found["block_number"], [sent])
    assert (await call("get_block_details", block=str(block["number"])))["hash"] == block["hash"]
    missing = await call.refused("get_transaction_details", transaction_hash="0x" + "1" * 64)
    assert missing.category == "not_found"
    assert (await call.refused("get_block_details", block="999999999")).category == "not_found"


async def test_k2_logs_with_indexed_text_have_its_hash(chain: DevelopmentChain, call: Caller, reverter: str) -> None:
    made = await call("encode_function_call", function_signature="increase(string)", arguments=["first"])
    sent = chain.send(to=reverter, data=made["data"], value="0x1")
    (log,) = (await call("decode_logs", transaction_hash=sent))["logs"]
    by, label, count, data = log["arguments"]
    assert (by["value"], label["type"], data["value"]) == (ACCOUNTS[0], "hash of string", "0xc0ffee")
    assert label["value"] == "0x" + keccak(text="first").hex()
    assert count["value"].isdecimal()


async def test_k2_gas_price_has_exact_amounts(chain: DevelopmentChain, call: Caller) -> None:
    found = await call("gas_price")
    price = int(chain.call("eth_gasPrice"), 16)
    assert (found["gas_price"]["value"], found["gas_price"]["symbol"]) == (str(price), "gwei")
    assert int(found["base_fee"]["value"]) + int(found["priority_fee"]["value"]) == price


# Sending


@pytest.mark.parametrize("key", [None, KEYS[1]])
async def test_k2_transactions_are_sent_on_a_development_chain(
    chain: DevelopmentChain, contracts: Mapping[str, Compiled], reverter: str, key: str | None
) -> None:
    own = Chain(CHAIN_ID, (chain.url,), development=True)
    async with Runtime([ethereum_toolset([own], sources=[], development_key=key)]) as runtime:
        call = Caller(await runtime.open("s", "ann"))
        account = ACCOUNTS[0 if key is None else 1]
        before = chain.nonce(account)
        sent = await call("send_transaction", to=NOBODY, value="123")
        assert (sent["from_address"], sent["status"]) == (account, "succeeded")
        details = await call("get_transaction_details", transaction_hash=sent["transaction_hash"])
        assert details["value"]["value"] == "123"
        made = await call("send_transaction", data=contracts["Reverter"].code)
        size = await call("get_contract_code_size", address=made["contract_address"])
        assert size["is_contract"]
        several = await asyncio.gather(*[call("send_transaction", to=NOBODY, value=str(n)) for n in range(1, 6)])
        assert len({each["transaction_hash"] for each in several}) == 5
        assert chain.nonce(account) == before + 7, "each was sent once"
        selector = parse_signature("withReason()").selector.hex()
        error = await call.refused("send_transaction", to=reverter, data=f"0x{selector}")
        assert (error.details["error"], "the shop is closed" in error.message) == ("reverted", True)
        error = await call.refused("send_transaction", to=NOBODY, value=str(10**30))
        assert error.details["error"] == "insufficient_funds"
        error = await call.refused("send_transaction", to=NOBODY, value="1", from_address=NOBODY)
        assert error.category in ("permission", "not_found")
        assert chain.nonce(account) == before + 7, "nothing else was sent"
        error = await call.refused("send_transaction")
        assert (error.category, error.message) == ("validation", f"{NO_CODE}.")


async def test_k2_other_chains_are_refused(chain: DevelopmentChain) -> None:
    before = chain.nonce(ACCOUNTS[0])
    public = ethereum_toolset([Chain(CHAIN_ID, (chain.url,))], sources=[], development_key=KEYS[0])
    async with Runtime([public]) as runtime:
        error = await Caller(await runtime.open("s", "ann")).refused("send_transaction", to=NOBODY, value="1")
        assert (error.category, "send_transaction_to_wallet" in error.message) == ("permission", True)
    other = ethereum_toolset([Chain(777, (chain.url,), development=True)], sources=[], development_key=KEYS[0])
    async with Runtime([other]) as runtime:
        call = Caller(await runtime.open("s", "ann"))
        error = await call.refused("send_transaction", chain_id=777, to=NOBODY, value="1")
        assert (error.category, "another chain" in error.message) == ("configuration", True)
        error = await call.refused("gas_price", chain_id=5)
        assert (error.category, "Chain 777 (777)" in error.message) == ("not_found", True)
    assert chain.nonce(ACCOUNTS[0]) == before
    with pytest.raises(SettingsError, match="public network"):
        Chain(1, (chain.url,), development=True)


async def test_k2_invalid_key_is_not_repeated(chain: DevelopmentChain) -> None:
    toolset = ethereum_toolset(
        [Chain(CHAIN_ID, (chain.url,), development=True)], sources=[], development_key="0xs3cret"
    )
    async with Runtime([toolset]) as runtime:
        error = await Caller(await runtime.open("s", "ann")).refused("send_transaction", to=NOBODY, value="1")
    assert error.category == "configuration"
    assert "s3cret" not in f"{error.to_model()} {error.report}"


async def test_k2_wallet_signs_and_the_server_has_no_key(call: Caller, token: str) -> None:
    arguments = {
        "to": token.lower(),
        "value": "0",
        "data": "0xa9059cbb",
        "description": "Send 100 TEST to Bob",
        "abi": "transfer(address to, uint256 value)",
    }
    session = call.session
    outcome = await session.call("send_transaction_to_wallet", {"chain_id": CHAIN_ID, **arguments})
    (request,) = await session.requests()
    assert request.kind == "wallet_tx_request"
    assert request.payload["chain_id"] == CHAIN_ID
    answer = {"status": "confirmed", "transaction_hash": "0x" + "1" * 64, "detail": "block 7"}
    await session.post({"kind": "wallet_tx_response", "request_id": request.id, **answer})
    value = (await session.result(outcome.execution_id, timeout=SOON)).value
    assert value == {**answer, "contract_address": None}
    error = await call.refused("send_transaction_to_wallet", **{**arguments, "to": ACCOUNTS[0][:-1] + "7"})
    assert error.category == "validation"
    assert await session.requests() == [], "a wrong checksum never reaches a person"


def answer_of(chain: DevelopmentChain, transaction_hash: str) -> dict[str, Any]:
    """The answer of a page whose wallet has sent a transaction that creates a contract."""
    address = chain.call("eth_getTransactionReceipt", transaction_hash)["contractAddress"]
    return {"status": "confirmed", "transaction_hash": transaction_hash, "contract_address": address}


async def test_k2_wallet_creates_a_contract(
    chain: DevelopmentChain, call: Caller, contracts: Mapping[str, Compiled]
) -> None:
    session, arguments = call.session, {"value": "0", "description": "Open a shop", "chain_id": CHAIN_ID}
    creation = {**arguments, "to": None, "data": contracts["Reverter"].code}
    outcome = await session.call("send_transaction_to_wallet", creation)
    (request,) = await session.requests()
    assert (request.payload["to"], request.payload["data"]) == (None, contracts["Reverter"].code)
    answer = answer_of(chain, chain.send(data=request.payload["data"]))
    with pytest.raises(AnswerInvalid):
        await session.answer(request.id, {**answer, "contract_address": "0xc0de"})
    await session.answer(request.id, answer)
    value = (await session.result(outcome.execution_id, timeout=SOON)).value
    assert value == {**answer, "contract_address": checksum(answer["contract_address"]), "detail": None}
    assert (await call("get_contract_code_size", address=value["contract_address"]))["is_contract"]
    for fields in ({"to": None, "data": "0x"}, {"data": "0x"}):
        error = await call.refused("send_transaction_to_wallet", **arguments, **fields)
        assert (error.category, NO_CODE in error.message) == ("validation", True)
    for to in ("", "0x", "0x0", "null"):
        error = await call.refused("send_transaction_to_wallet", **{**creation, "to": to})
        assert error.category == "validation"
    assert await session.requests() == [], "none of these reaches a person"


async def test_k2_contract_of_a_reverted_creation_is_not_reported(chain: DevelopmentChain, call: Caller) -> None:
    with suppress(RuntimeError):  # Hardhat reports the revert as an error, after it has sent the transaction
        chain.send(data="0x5f5ffd", gas=hex(100_000))
    (sent,) = chain.call("eth_getBlockByNumber", "latest", False)["transactions"]
    found = await call("get_transaction_details", transaction_hash=sent)
    assert (found["status"], found["to_address"], found["contract_address"]) == ("reverted", None, None)
    receipt = chain.call("eth_getTransactionReceipt", sent)
    read = read_receipt({**receipt, "contractAddress": NOBODY})  # as Geth writes it
    assert read is not None
    assert read.contract_address is None


# Following a transaction


async def progress_of(session: Session, execution_id: str, count: int) -> list[dict[str, Any]]:
    """Wait for reports of progress."""
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(SOON):
        async for event in session.events(0):
            if event.kind == "tool_progress" and event.data["execution_id"] == execution_id:
                found.append(event.data)
                if len(found) == count:
                    break
    return found


class WatchedClock(ManualClock):
    """A manual clock that says when a follower waits for the next look."""

    def __init__(self) -> None:
        super().__init__()
        self._sleeping = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self._sleeping.set()
        await super().sleep(seconds)

    async def slept(self) -> None:
        async with asyncio.timeout(SOON):
            await self._sleeping.wait()
        self._sleeping.clear()


async def test_k2_tx_status_follows_to_confirmations_with_progress(chain: DevelopmentChain) -> None:
    clock = WatchedClock()
    toolset = ethereum_toolset([Chain(CHAIN_ID, (chain.url,), development=True)], sources=[], clock=clock)
    async with Runtime([toolset]) as runtime:
        session = await runtime.open("s", "ann")
        with chain.snapshot(), chain.without_mining():
            sent = chain.send(to=NOBODY, value="0x1")
            started = await session.call(
                "tx_status", {"chain_id": CHAIN_ID, "transaction_hash": sent, "confirmations": 3}
            )
            (first,) = await progress_of(session, started.execution_id, 1)
            assert (first["stage"], first["fraction"]) == ("waiting", 0.0)
            for number in range(3):
                await clock.slept()
                chain.mine()
                await clock.advance(4.0)
                *_, newest = await progress_of(session, started.execution_id, number + 2)
                assert newest["message"] == f"{number + 1} of 3 confirmations"
            final = (await session.result(started.execution_id, timeout=SOON)).value
        assert (final["status"], final["confirmations"], final["reorganisations"]) == ("confirmed", 3, 0)
        assert final["timed_out"] is False


async def test_k2_tx_status_notices_a_reorganisation(chain: DevelopmentChain) -> None:
    clock = WatchedClock()
    toolset = ethereum_toolset([Chain(CHAIN_ID, (chain.url,), development=True)], sources=[], clock=clock)
    async with Runtime([toolset]) as runtime:
        session = await runtime.open("s", "ann")
        with chain.snapshot():
            before = chain.call("evm_snapshot")
            sent = chain.send(to=NOBODY, value="0x2")
            arguments = {"chain_id": CHAIN_ID, "transaction_hash": sent, "confirmations": 3, "timeout_seconds": 100}
            started = await session.call("tx_status", arguments)
            (first,) = await progress_of(session, started.execution_id, 1)
            assert first["message"] == "1 of 3 confirmations"
            await clock.slept()
            assert chain.call("evm_revert", before)
            chain.mine(2)
            await clock.advance(4.0)
            *_, moved = await progress_of(session, started.execution_id, 2)
            assert moved["stage"] == "reorganised"
            await clock.slept()
            await clock.advance(200.0)
            final = (await session.result(started.execution_id, timeout=SOON)).value
        assert (final["status"], final["reorganisations"], final["timed_out"]) == ("unknown", 1, True)


async def test_k2_workers_answer_people_without_the_model(
    chain: DevelopmentChain, toolset: EthereumToolset, token: str
) -> None:
    sent = chain.send(to=NOBODY, value="0x1")
    requests = {
        "gas_price": {"chain_id": CHAIN_ID},
        "tx_status": {"chain_id": CHAIN_ID, "transaction_hash": sent},
        "decode_calldata": {"data": "0x095ea7b3" + "00" * 64},
        "balance_check": {"address": ACCOUNTS[0], "chain_id": CHAIN_ID, "tokens": [token, ACCOUNTS[1]]},
    }
    async with Runtime(workers=toolset.workers) as runtime:
        session = await runtime.open("s", "ann")
        for kind, payload in requests.items():
            await session.post({"kind": "user_request", "request_kind": kind, "request_id": kind, "payload": payload})
        answers: dict[str, Any] = {}
        notices: list[Any] = []
        async with asyncio.timeout(SOON):
            async for event in session.events(0):
                if event.kind == "system_notice":
                    notices.append(event.data)
                if event.kind == "user_response":
                    assert event.data["error"] is None
                    answers[event.data["request_id"]] = event.data["payload"]
                    if len(answers) == len(requests):
                        break
        assert await session.take_results() == [], "the model gets nothing"
    assert answers["tx_status"]["status"] == "confirmed"
    details = {"request_id": "tx_status", "request_kind": "tx_status", "stage": "confirming", "fraction": 1.0}
    assert notices == [{"message": "1 of 1 confirmations", "details": details}]
    assert answers["decode_calldata"]["signature"] == "approve(address spender, uint256 value) returns (bool)"
    held, none = answers["balance_check"]["tokens"]
    assert held["balance"]["symbol"] == "TEST"
    assert "no ERC-20 token" in none["error"]
