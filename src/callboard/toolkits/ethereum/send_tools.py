"""Tools that send: `send_transaction` on development chains, and `send_transaction_to_wallet` everywhere."""

from typing import Annotated, Literal

import anyio
from pydantic import AfterValidator, BaseModel, Field, ValidationInfo

from callboard import Tool, ToolError, tool

from .client import EthereumClient
from .sender import DevelopmentSender, TransactionRequest
from .signature import MAX_SIGNATURE
from .signer import DevelopmentSigner
from .transactions import read_receipt
from .values import Address, ChainId, HexData, Wei

MAX_GAS = 2**53 - 1
LOOKS, BETWEEN_LOOKS = 20, 0.05
"""Looks for the receipt of a transaction on a development chain, and the seconds between them."""
NO_CODE = "Give the recipient in `to`, or the code of a new contract in `data`"


class SentTransaction(BaseModel):
    """A transaction that was sent on a development chain."""

    transaction_hash: str
    chain_id: int
    from_address: str
    status: Literal["pending", "succeeded", "reverted"] = Field(description="Its state just after it was sent")
    contract_address: str | None = Field(default=None, description="Contract that it created")


class WalletOutcome(BaseModel):
    """The outcome of a transaction in a person's wallet."""

    status: Literal["confirmed", "rejected", "failed"] = Field(description="Outcome of the transaction")
    transaction_hash: str | None = Field(default=None, max_length=200, description="Its hash, if it was sent")
    contract_address: Address | None = Field(default=None, description="Contract that it created")
    detail: str | None = Field(default=None, max_length=10_000, description="Details, such as its block")


def _has_code(data: str, info: ValidationInfo) -> str:
    """Check that there is a recipient or code. `to` must be an earlier argument, and is missing if it is not valid."""
    if data == "0x" and info.data.get("to", "") is None:
        raise ValueError(NO_CODE)
    return data


def send_tools(client: EthereumClient) -> tuple[Tool, ...]:
    """Make the tools that send transactions."""

    @tool(timeout=60.0)
    async def send_transaction(
        chain_id: ChainId,
        to: Annotated[Address | None, Field(description="Recipient; null to create a contract")] = None,
        value: Annotated[Wei, Field(description="Amount in wei")] = "0",
        data: Annotated[HexData, Field(description="Calldata, or the code of a new contract")] = "0x",
        gas_limit: Annotated[
            int | None, Field(ge=21_000, le=MAX_GAS, description="Gas limit; by default estimated")
        ] = None,
        from_address: Annotated[Address | None, Field(description="Account that sends; by default the first")] = None,
    ) -> SentTransaction:
        """Send a transaction on a development chain. Other chains are refused: use send_transaction_to_wallet.

        A transaction that would be reverted is not sent, unless gas_limit is given.
        """
        rpc = client.rpc(chain_id)
        if to is None and data == "0x":
            raise ToolError(f"{NO_CODE}.", category="validation")
        key = client.development_key if rpc.chain.development else None
        sender = DevelopmentSender(rpc, None if key is None else DevelopmentSigner(key))
        request = TransactionRequest(to, int(value), data, gas_limit, from_address)
        sent, account = await sender.send(request)
        made = SentTransaction(transaction_hash=sent, chain_id=chain_id, from_address=account, status="pending")
        try:
            for _ in range(LOOKS):  # a busy node mines it a moment after it has answered
                if (receipt := read_receipt(await rpc.call("eth_getTransactionReceipt", sent))) is not None:
                    break
                await anyio.sleep(BETWEEN_LOOKS)
            else:
                return made
        except ToolError:  # it is sent, which must not be told as a failure
            return made
        status = "succeeded" if receipt.succeeded else "reverted"
        return made.model_copy(update={"status": status, "contract_address": receipt.contract_address})

    @tool(mode="human", asks="wallet_tx_request", answer=WalletOutcome)
    async def send_transaction_to_wallet(
        to: Annotated[
            Address | None, Field(description="Recipient, or the contract to call; null to create a contract")
        ],
        value: Annotated[Wei, Field(description="Amount in wei")],
        data: Annotated[
            HexData,
            Field(description="Calldata, 0x for a plain transfer, or the code of a new contract"),
            AfterValidator(_has_code),
        ],
        description: Annotated[
            str, Field(min_length=1, max_length=1_000, description="What it does, for the person who signs")
        ],
        chain_id: ChainId,
        gas_limit: Annotated[
            int | None, Field(ge=21_000, le=MAX_GAS, description="Gas limit; by default the wallet chooses")
        ] = None,
        from_address: Annotated[Address | None, Field(description="Account that must send; by default any")] = None,
        abi: Annotated[
            str | None, Field(max_length=MAX_SIGNATURE, description="Signature of the called function, to display it")
        ] = None,
        confirmations: Annotated[
            int | None, Field(ge=1, le=100, description="Blocks to wait for; by default 1")
        ] = None,
    ) -> WalletOutcome:
        """Ask the user's wallet to sign and send a transaction. The wallet signs; the server has no key."""
        raise NotImplementedError  # the outcome in the wallet is the result

    return send_transaction, send_transaction_to_wallet
