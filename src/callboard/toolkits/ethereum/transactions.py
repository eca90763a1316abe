"""Transactions and receipts, read from the answers of nodes. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import BaseModel, Field

from .abi_values import shortened_hex
from .chain import Chain
from .values import Amount, amount, optional_quantity, read_address, read_data, read_hash, read_quantity

TransactionStatus = Literal["pending", "succeeded", "reverted"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of a mined transaction."""

    block_number: int
    block_hash: str
    succeeded: bool
    gas_used: int
    gas_price: int | None
    further_fees: int
    """Fees beside that for gas: of a rollup for its data on the chain below (`l1Fee`), and for blobs (EIP-4844)."""
    contract_address: str | None
    """Contract that the transaction created. Some nodes name one also if the creation was reverted; it is left out."""
    log_count: int

    @property
    def fee(self) -> int | None:
        """The fee in the smallest unit."""
        return None if self.gas_price is None else self.gas_price * self.gas_used + self.further_fees


class TransactionDetails(BaseModel):
    """A transaction, and its receipt if it is mined."""

    hash: str
    chain_id: int
    status: TransactionStatus
    confirmations: int = Field(description="Blocks since, with its own; 0 while it is pending")
    block_number: int | None
    block_hash: str | None
    from_address: str
    to_address: str | None = Field(description="Recipient, or null if it creates a contract")
    contract_address: str | None = Field(description="Contract that it created")
    value: Amount
    nonce: int
    gas_limit: int
    gas_used: int | None
    fee: Amount | None
    max_fee_per_gas: Amount | None
    type: int = Field(description="Type of the transaction (EIP-2718)")
    data: str = Field(description="Calldata, cut if it is long")
    log_count: int | None
    explorer_url: str | None = None


def read_receipt(answer: object) -> Receipt | None:
    """Read a receipt, or return None if there is none. Raises `ToolError`."""
    if not isinstance(answer, dict):
        return None
    fields = cast("dict[str, Any]", answer)
    logs = fields.get("logs")
    succeeded = optional_quantity(fields.get("status")) != 0
    for_data, blob_gas, blob_price = (
        optional_quantity(fields.get(name)) or 0 for name in ("l1Fee", "blobGasUsed", "blobGasPrice")
    )
    return Receipt(
        block_number=read_quantity(fields.get("blockNumber"), "a receipt"),
        block_hash=read_hash(fields.get("blockHash")) or "",
        succeeded=succeeded,
        gas_used=read_quantity(fields.get("gasUsed"), "a receipt"),
        gas_price=optional_quantity(fields.get("effectiveGasPrice")),
        further_fees=for_data + blob_gas * blob_price,
        contract_address=read_address(fields.get("contractAddress")) if succeeded else None,
        log_count=len(cast("list[Any]", logs)) if isinstance(logs, list) else 0,
    )


def read_transaction(chain: Chain, fields: Mapping[str, Any], receipt: Receipt | None, head: int) -> TransactionDetails:
    """Make the details of a transaction. Raises `ToolError`."""
    fee_cap = optional_quantity(fields.get("maxFeePerGas", fields.get("gasPrice")))
    status: TransactionStatus = "pending"
    if receipt is not None:
        status = "succeeded" if receipt.succeeded else "reverted"
    found = read_hash(fields.get("hash")) or ""
    fee = None if receipt is None else receipt.fee
    return TransactionDetails(
        hash=found,
        chain_id=chain.id,
        status=status,
        confirmations=0 if receipt is None else max(0, head - receipt.block_number + 1),
        block_number=None if receipt is None else receipt.block_number,
        block_hash=None if receipt is None else receipt.block_hash,
        from_address=read_address(fields.get("from")) or "",
        to_address=read_address(fields.get("to")),
        contract_address=None if receipt is None else receipt.contract_address,
        value=amount(read_quantity(fields.get("value")), chain.symbol, chain.decimals),
        nonce=read_quantity(fields.get("nonce")),
        gas_limit=read_quantity(fields.get("gas")),
        gas_used=None if receipt is None else receipt.gas_used,
        fee=None if fee is None else amount(fee, chain.symbol, chain.decimals),
        max_fee_per_gas=None if fee_cap is None else amount(fee_cap, "gwei", 9),
        type=optional_quantity(fields.get("type")) or 0,
        data=shortened_hex(read_data(fields.get("input", fields.get("data")))),
        log_count=None if receipt is None else receipt.log_count,
        explorer_url=None if chain.explorer_url is None else f"{chain.explorer_url.rstrip('/')}/tx/{found}",
    )
