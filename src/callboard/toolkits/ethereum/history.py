"""The transactions of an account: from an indexer if there is one, else from the newest blocks, within a bound."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import BaseModel, Field

from callboard import ToolError

from .chain import Chain
from .client import EthereumClient
from .etherscan import Etherscan
from .rpc import RpcClient
from .values import Amount, address_or_none, amount, read_address, read_hash, read_quantity

MAX_HISTORY = 1_000
"""The newest transactions of an account that pages can reach."""
SCANNED_BLOCKS = 100
"""Blocks that are searched without an indexer."""


class AccountTransaction(BaseModel):
    """A transaction of an account."""

    hash: str
    direction: Literal["sent", "received", "self"]
    block_number: int
    timestamp: int = Field(description="Seconds since 1970")
    from_address: str
    to_address: str | None = Field(description="Recipient, or null if it created a contract")
    value: Amount
    nonce: int
    selector: str | None = Field(description="First four bytes of the calldata, if there are any")
    failed: bool | None = Field(description="Whether it was reverted; null if that was not looked up")


class AccountHistory(BaseModel):
    """A page of an account's transactions, newest first."""

    address: str
    chain_id: int
    current_nonce: int
    source: Literal["etherscan", "blocks"]
    transactions: list[AccountTransaction]
    next_offset: int | None = Field(description="Offset of the next page, or null if there is none that can be read")
    complete: bool = Field(description="Whether older transactions cannot exist")
    note: str | None = Field(default=None, description="What was searched, if that is not everything")


async def find_transactions(
    client: EthereumClient, chain_id: int, address: str, nonce: int, *, limit: int, offset: int
) -> AccountHistory:
    """Return a page of an account's history. If the indexer does not serve the chain, blocks are searched.

    Raises `ToolError`.
    """
    chain = client.chain(chain_id)
    count = min(offset + limit + 1, MAX_HISTORY)
    note = None
    if client.etherscan is not None and not chain.development:
        try:
            found = await _indexed(client.etherscan, chain, address, count)
            return _page(chain, address, nonce, "etherscan", found, limit, offset, complete=len(found) < count)
        except ToolError as error:
            if error.category != "not_found":
                raise
    found, first, last = await _scan(client.rpc(chain_id), address, count)
    if first > 0:
        note = f"Only blocks {first} to {last} were searched, since there is no indexer for {chain}."
    return _page(
        chain, address, nonce, "blocks", found, limit, offset, complete=first == 0 and len(found) < count, note=note
    )


def _page(
    chain: Chain,
    address: str,
    nonce: int,
    source: Literal["etherscan", "blocks"],
    found: Sequence[AccountTransaction],
    limit: int,
    offset: int,
    *,
    complete: bool,
    note: str | None = None,
) -> AccountHistory:
    end = offset + limit
    return AccountHistory(
        address=address,
        chain_id=chain.id,
        current_nonce=nonce,
        source=source,
        transactions=list(found[offset:end]),
        next_offset=end if len(found) > end else None,
        complete=complete,
        note=note,
    )


async def _indexed(etherscan: Etherscan, chain: Chain, address: str, count: int) -> list[AccountTransaction]:
    rows = await etherscan.transactions(chain.id, address, count=count)
    made = (_from_row(chain, address, row) for row in rows[:count])
    return [each for each in made if each is not None]


def _from_row(chain: Chain, address: str, row: Mapping[str, Any]) -> AccountTransaction | None:
    """Read a row of the indexer, in which numbers are decimal text. None if it cannot be read."""
    try:
        sender = address_or_none(row.get("from"))
        if sender is None:
            return None
        numbers = {name: _decimal(row[name]) for name in ("blockNumber", "timeStamp", "value", "nonce")}
        return _transaction(
            chain,
            address,
            transaction_hash=read_hash(row["hash"]) or "",
            sender=sender,
            to=address_or_none(row.get("to")),
            block=numbers["blockNumber"],
            timestamp=numbers["timeStamp"],
            value=numbers["value"],
            nonce=numbers["nonce"],
            data=str(row.get("input", "0x"))[:10],
            failed=row.get("isError") == "1",
        )
    except (KeyError, ValueError, ToolError):
        return None


def _decimal(value: object) -> int:
    text = str(value)
    if not text.isdecimal() or len(text) > 78:
        raise ValueError("not a number")
    return int(text)


async def _scan(rpc: RpcClient, address: str, count: int) -> tuple[list[AccountTransaction], int, int]:
    """Search the newest blocks for transactions. Returns them with the first and the last block that was searched."""
    last = read_quantity(await rpc.call("eth_blockNumber"), "a block number")
    first = max(0, last - SCANNED_BLOCKS + 1)
    found: list[AccountTransaction] = []
    for number in range(last, first - 1, -1):
        block = await rpc.call("eth_getBlockByNumber", hex(number), True)
        if not isinstance(block, dict):
            continue  # reorganised meanwhile
        fields = cast("dict[str, Any]", block)
        rows = cast("list[Mapping[str, Any]]", fields.get("transactions") or [])
        timestamp = read_quantity(fields.get("timestamp"))
        made = (_from_block(rpc.chain, address, row, timestamp) for row in reversed(rows))
        found += [each for each in made if each is not None]
        if len(found) >= count:
            return found[:count], number, last
    return found, first, last


def _from_block(chain: Chain, address: str, row: Mapping[str, Any], timestamp: int) -> AccountTransaction | None:
    sender, to = read_address(row.get("from")), read_address(row.get("to"))
    if sender is None or address not in (sender, to):
        return None
    return _transaction(
        chain,
        address,
        transaction_hash=read_hash(row.get("hash")) or "",
        sender=sender,
        to=to,
        block=read_quantity(row.get("blockNumber")),
        timestamp=timestamp,
        value=read_quantity(row.get("value")),
        nonce=read_quantity(row.get("nonce")),
        data=str(row.get("input", "0x"))[:10],
        failed=None,
    )


def _transaction(
    chain: Chain,
    address: str,
    *,
    transaction_hash: str,
    sender: str,
    to: str | None,
    block: int,
    timestamp: int,
    value: int,
    nonce: int,
    data: str,
    failed: bool | None,
) -> AccountTransaction:
    direction = "self" if sender == to else "sent" if sender == address else "received"
    return AccountTransaction(
        hash=transaction_hash,
        direction=direction,
        block_number=block,
        timestamp=timestamp,
        from_address=sender,
        to_address=to,
        value=amount(value, chain.symbol, chain.decimals),
        nonce=nonce,
        selector=data if len(data) == 10 else None,
        failed=failed,
    )
