"""What nodes answer as results of tools: fees, tokens, accounts, logs and calldata. No chain."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from callboard import Registry, ToolError
from callboard.toolkits.ethereum import Chain, ethereum_toolset
from tests.toolkits.test_ethereum_nodes import Node, answered
from tests.toolkits.test_http_fetch import serving

pytestmark = pytest.mark.anyio

ACCOUNT, OTHER = "0x" + "1" * 40, "0x" + "2" * 40
HASH, BLOCK = "0x" + "a" * 64, "0x" + "b" * 64
GWEI = 10**9
TRANSACTION = {
    "hash": HASH,
    "from": ACCOUNT,
    "to": OTHER,
    "value": "0x0",
    "nonce": "0x1",
    "gas": "0x5208",
    "input": "0x",
}
RECEIPT = {
    "blockNumber": "0x9",
    "blockHash": BLOCK,
    "status": "0x1",
    "gasUsed": hex(21_000),
    "effectiveGasPrice": hex(GWEI),
    "logs": [],
}


@asynccontextmanager
async def asked(answers: Mapping[str, Any]) -> AsyncGenerator[Callable[..., Any]]:
    """Yield a function that calls a tool or worker, for a node with these answers by method."""

    def respond(request: dict[str, Any]) -> bytes:
        answer = answers[request["method"]]
        return answered(request, result=answer(*request["params"]) if callable(answer) else answer)

    async with serving() as server:
        node = Node(server)
        node.respond = respond
        toolset = ethereum_toolset([Chain(7, (node.url,))], sources=[])
        workers = [each for each in toolset.workers if each.name == "balance_check"]
        async with Registry([*toolset.tools(), *workers]) as registry:

            async def call(name: str, **arguments: Any) -> Any:
                return await registry.call(name, arguments)

            yield call


@pytest.mark.parametrize(
    ("more", "fee"),
    [
        ({}, 21_000 * GWEI),
        ({"l1Fee": None, "blobGasUsed": "0x0"}, 21_000 * GWEI),
        ({"l1Fee": hex(5 * 10**13), "l1GasPrice": "0x1"}, 21_000 * GWEI + 5 * 10**13),
        ({"blobGasUsed": hex(131_072), "blobGasPrice": hex(GWEI)}, 152_072 * GWEI),
    ],
)
async def test_k2_fee_has_all_that_was_paid(more: dict[str, Any], fee: int) -> None:
    """Rollups charge for data on the chain below, and blobs have a price of their own."""
    answers = {
        "eth_getTransactionByHash": TRANSACTION,
        "eth_getTransactionReceipt": {**RECEIPT, **more},
        "eth_blockNumber": "0x9",
        "eth_getBlockByNumber": {"hash": BLOCK},
    }
    async with asked(answers) as call:
        details = await call("get_transaction_details", chain_id=7, transaction_hash=HASH)
        assert details["fee"]["value"] == str(fee)
        followed = await call("tx_status", chain_id=7, transaction_hash=HASH)
        assert (followed["status"], followed["fee"]["value"]) == ("confirmed", str(fee))


async def test_k2_delegation_of_an_account_has_its_checksum() -> None:
    delegate = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    code = "0xef0100" + delegate[2:].lower()
    answers = {"eth_getBalance": "0x0", "eth_getTransactionCount": "0x1", "eth_getCode": code}
    async with asked(answers) as call:
        found = await call("get_account_info", chain_id=7, address=ACCOUNT)
    assert (found["delegated_to"], found["is_contract"]) == (delegate, False)


@pytest.mark.parametrize(
    ("decimals", "known", "decimal"),
    [("0x" + "0" * 63 + "6", 6, "1.5"), ("0x" + "0" * 64, 0, "1500000"), ("0x", None, None)],
)
async def test_k2_amount_of_a_token_without_decimals_is_not_guessed(
    decimals: str, known: int | None, decimal: str | None
) -> None:
    def call_of(transaction: dict[str, str], _: str) -> str:
        return {"0x313ce567": decimals, "0x95d89b41": "0x"}.get(transaction["data"], f"0x{1_500_000:064x}")

    async with asked({"eth_call": call_of, "eth_getBalance": "0x0"}) as call:
        found = await call("get_erc20_balance", chain_id=7, token_address=OTHER, holder_address=ACCOUNT)
        checked = (await call("balance_check", chain_id=7, address=ACCOUNT, tokens=[OTHER]))["tokens"][0]
    for each in (found, checked):
        assert (each["balance"]["value"], each["balance"]["decimal"]) == ("1500000", decimal)
        assert each["decimals"] == known


@pytest.mark.parametrize("missing", [1, 2, 31, 32, 63])
async def test_k2_calldata_that_is_cut_off_is_refused(missing: int) -> None:
    async with asked({}) as call:
        signature = "transfer(address to, uint256 amount)"
        arguments = [ACCOUNT, "1000000"]
        data = (await call("encode_function_call", function_signature=signature, arguments=arguments))["data"]
        longer = await call("decode_calldata", data=data + "ab" * missing, function_signature=signature)
        assert longer["arguments"][1]["value"] == "1000000", "more data than needed is no problem"
        with pytest.raises(ToolError, match="does not fit") as caught:
            await call("decode_calldata", data=data[: -2 * missing], function_signature=signature)
        assert caught.value.category == "validation"
        assert not (await call("decode_calldata", data=data[: -2 * missing]))["known"]


async def test_k2_log_that_is_too_large_is_shown_as_unknown() -> None:
    log = {"address": ACCOUNT, "topics": [HASH], "logIndex": "0x0", "data": "0x"}
    large = {**log, "data": "0x" + "00" * 1_000_001}
    async with asked({"eth_getTransactionReceipt": {**RECEIPT, "logs": [large, {**log, "logIndex": "0x1"}]}}) as call:
        found = (await call("decode_logs", chain_id=7, transaction_hash=HASH, event_signatures=["Paid()"]))["logs"]
    assert [(each["known"], each["log_index"]) for each in found] == [(False, 0), (False, 1)]
    assert found[0]["data"].endswith("… (1000001 bytes)")
    assert len(found[0]["data"]) < 30_000
