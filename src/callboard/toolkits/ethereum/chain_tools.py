"""Tools for the state of a chain: transactions, blocks and the price of gas."""

from typing import Annotated, Any, cast

from pydantic import BaseModel, Field

from callboard import Tool, ToolError, tool

from .client import EthereumClient
from .transactions import TransactionDetails, read_receipt, read_transaction
from .values import (
    Amount,
    ChainId,
    TransactionHash,
    amount,
    block_parameter,
    optional_quantity,
    read_address,
    read_hash,
    read_quantity,
)

MAX_LISTED = 200

Block = Annotated[
    str,
    Field(
        pattern="^(latest|pending|earliest|safe|finalized|[0-9]{1,15}|0x[0-9a-fA-F]{1,12}|0x[0-9a-fA-F]{64})$",
        description="latest, pending, earliest, safe, finalized, the number of the block, or its hash",
    ),
]


class BlockDetails(BaseModel):
    """A block."""

    chain_id: int
    number: int | None = Field(description="Number; null for a pending block")
    hash: str | None
    parent_hash: str | None
    timestamp: int = Field(description="Seconds since 1970")
    miner: str | None
    gas_used: int
    gas_limit: int
    base_fee_per_gas: Amount | None
    transaction_count: int
    transactions: list[str] = Field(description="Hashes of transactions, a part of them if there are many")
    next_start: int | None = Field(description="Where to read on in the list of transactions, or null at its end")


class GasPrice(BaseModel):
    """The price of a unit of gas."""

    chain_id: int
    gas_price: Amount = Field(description="What the node suggests for a transaction now")
    base_fee: Amount | None = Field(description="The part that every transaction of the next block pays")
    priority_fee: Amount | None = Field(description="What the suggested price is above the base fee")


def chain_tools(client: EthereumClient) -> tuple[Tool, ...]:
    """Make the tools for the state of a chain."""

    @tool(idempotent=True)
    async def get_transaction_details(chain_id: ChainId, transaction_hash: TransactionHash) -> TransactionDetails:
        """Return a transaction: its status, confirmations, amounts, fee and calldata."""
        rpc = client.rpc(chain_id)
        answer = await rpc.call("eth_getTransactionByHash", transaction_hash)
        if not isinstance(answer, dict):
            message = f"There is no transaction {transaction_hash} on {rpc.chain}. Check the hash and the chain."
            raise ToolError(message, category="not_found")
        receipt = read_receipt(await rpc.call("eth_getTransactionReceipt", transaction_hash))
        head = read_quantity(await rpc.call("eth_blockNumber"), "a block number")
        return read_transaction(rpc.chain, cast("dict[str, Any]", answer), receipt, head)

    @tool(idempotent=True)
    async def get_block_details(
        chain_id: ChainId,
        block: Block = "latest",
        start: Annotated[int, Field(ge=0, description="Skip this many transactions, to read on")] = 0,
    ) -> BlockDetails:
        """Return a block: its time, fees, and the hashes of its transactions."""
        rpc = client.rpc(chain_id)
        method = "eth_getBlockByHash" if len(block) == 66 else "eth_getBlockByNumber"
        answer = await rpc.call(method, block_parameter(block), False)
        if not isinstance(answer, dict):
            raise ToolError(f"There is no block {block} on {rpc.chain}.", category="not_found")
        fields = cast("dict[str, Any]", answer)
        base_fee = optional_quantity(fields.get("baseFeePerGas"))
        listed = cast("list[Any]", fields.get("transactions") or [])
        end = start + MAX_LISTED
        return BlockDetails(
            chain_id=chain_id,
            number=optional_quantity(fields.get("number")),
            hash=read_hash(fields.get("hash")),
            parent_hash=read_hash(fields.get("parentHash")),
            timestamp=read_quantity(fields.get("timestamp"), "a block"),
            miner=read_address(fields.get("miner")),
            gas_used=read_quantity(fields.get("gasUsed"), "a block"),
            gas_limit=read_quantity(fields.get("gasLimit"), "a block"),
            base_fee_per_gas=None if base_fee is None else amount(base_fee, "gwei", 9),
            transaction_count=len(listed),
            transactions=[read_hash(each) or "" for each in listed[start:end]],
            next_start=end if end < len(listed) else None,
        )

    @tool(idempotent=True)
    async def gas_price(
        chain_id: Annotated[ChainId | None, Field(description="Id of the chain; by default the first one")] = None,
    ) -> GasPrice:
        """Return the current price of a unit of gas, with the base fee and a tip."""
        rpc = client.rpc(next(iter(client.chains)) if chain_id is None else chain_id)
        price = read_quantity(await rpc.call("eth_gasPrice"), "a gas price")
        block = await rpc.call("eth_getBlockByNumber", "latest", False)
        base = (
            optional_quantity(cast("dict[str, Any]", block).get("baseFeePerGas")) if isinstance(block, dict) else None
        )
        return GasPrice(
            chain_id=rpc.chain.id,
            gas_price=amount(price, "gwei", 9),
            base_fee=None if base is None else amount(base, "gwei", 9),
            priority_fee=None if base is None else amount(max(0, price - base), "gwei", 9),
        )

    return get_transaction_details, get_block_details, gas_price
