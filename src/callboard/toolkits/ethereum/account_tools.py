"""Tools for accounts: balances, state and history, and the worker `balance_check`."""

from typing import Annotated

from pydantic import BaseModel, Field

from callboard import Tool, ToolError, tool

from .client import EthereumClient
from .contract_tools import read_code
from .history import MAX_HISTORY, SCANNED_BLOCKS, AccountHistory, find_transactions
from .tokens import token_balance, token_info
from .values import Address, Amount, BlockTag, ChainId, amount, block_parameter, checksum, read_quantity

DELEGATION = bytes.fromhex("ef0100")
"""The beginning of an account's code that delegates to a contract (EIP-7702)."""
MAX_TOKENS = 20

Account = Annotated[Address, Field(description="Address of the account")]


class AccountBalance(BaseModel):
    """The balance of an account in the native unit of a chain."""

    address: str
    chain_id: int
    balance: Amount


class TokenBalance(BaseModel):
    """The balance of an ERC-20 token."""

    token_address: str
    holder_address: str
    chain_id: int
    balance: Amount
    decimals: int | None = Field(description="Decimal places; null if the token does not say")


class AccountInfo(BaseModel):
    """The state of an account."""

    address: str
    chain_id: int
    balance: Amount
    nonce: int = Field(description="Number of transactions that the account has sent")
    is_contract: bool
    code_size: int
    delegated_to: str | None = Field(default=None, description="Contract whose code the account runs (EIP-7702)")


class CheckedToken(BaseModel):
    """The balance of a token, or why it is not known."""

    token_address: str
    balance: Amount | None = None
    decimals: int | None = Field(default=None, description="Decimal places; null if the token does not say")
    error: str | None = None


class CheckedBalances(BaseModel):
    """The balances of an account."""

    address: str
    chain_id: int
    balance: Amount
    tokens: list[CheckedToken]


def account_tools(client: EthereumClient) -> tuple[Tool, ...]:
    """Make the tools for accounts."""

    @tool(idempotent=True)
    async def get_account_balance(address: Account, chain_id: ChainId, tag: BlockTag = "latest") -> AccountBalance:
        """Return the balance of an account in the native unit of a chain."""
        balance = await read_balance(client, chain_id, address, tag)
        return AccountBalance(address=address, chain_id=chain_id, balance=balance)

    @tool(idempotent=True)
    async def get_erc20_balance(
        chain_id: ChainId,
        token_address: Annotated[Address, Field(description="Address of the token's contract")],
        holder_address: Annotated[Address, Field(description="Address of the account that holds the tokens")],
        tag: BlockTag = "latest",
    ) -> TokenBalance:
        """Return how much of an ERC-20 token an account holds."""
        rpc, block = client.rpc(chain_id), block_parameter(tag)
        value = await token_balance(rpc, token_address, holder_address, block)
        info = await token_info(rpc, token_address, block)
        return TokenBalance(
            token_address=token_address,
            holder_address=holder_address,
            chain_id=chain_id,
            balance=info.amount(value),
            decimals=info.decimals,
        )

    @tool(idempotent=True)
    async def get_account_info(address: Account, chain_id: ChainId) -> AccountInfo:
        """Return the balance and nonce of an account, and whether it is a contract."""
        balance = await read_balance(client, chain_id, address, "latest")
        nonce = await read_nonce(client, chain_id, address)
        code = await read_code(client, chain_id, address, "latest")
        delegated_to = delegate_of(code)
        return AccountInfo(
            address=address,
            chain_id=chain_id,
            balance=balance,
            nonce=nonce,
            is_contract=bool(code) and delegated_to is None,
            code_size=len(code),
            delegated_to=delegated_to,
        )

    @tool(idempotent=True, timeout=60.0)
    async def get_account_transaction_history(
        address: Account,
        chain_id: ChainId,
        current_nonce: Annotated[
            int | None, Field(ge=0, description="Nonce of the account, if you know it from get_account_info")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=100, description="Transactions to return")] = 20,
        offset: Annotated[int, Field(ge=0, le=MAX_HISTORY - 100, description="Newer transactions to skip")] = 0,
    ) -> AccountHistory:
        """List the transactions of an account, newest first.

        Without an indexer for the chain, only the newest blocks are searched; the result says which.
        """
        nonce = current_nonce if current_nonce is not None else await read_nonce(client, chain_id, address)
        return await find_transactions(client, chain_id, address, nonce, limit=limit, offset=offset)

    get_account_transaction_history = get_account_transaction_history.with_(
        description=get_account_transaction_history.description.replace(
            "newest blocks", f"newest {SCANNED_BLOCKS} blocks"
        )
    )
    return get_account_balance, get_erc20_balance, get_account_info, get_account_transaction_history


def balance_worker(client: EthereumClient) -> Tool:
    """Make the worker `balance_check`."""

    @tool(idempotent=True)
    async def balance_check(
        address: Account,
        chain_id: ChainId,
        tokens: Annotated[
            tuple[Annotated[Address, Field(description="Address of a token")], ...],
            Field(max_length=MAX_TOKENS, description="ERC-20 tokens to check too"),
        ] = (),
    ) -> CheckedBalances:
        """Return the balances of an account: the native unit, and ERC-20 tokens."""
        balance = await read_balance(client, chain_id, address, "latest")
        checked = [await _check(client, chain_id, token, address) for token in tokens]
        return CheckedBalances(address=address, chain_id=chain_id, balance=balance, tokens=checked)

    return balance_check


async def read_balance(client: EthereumClient, chain_id: int, address: str, tag: str) -> Amount:
    """Read a balance in the native unit. Raises `ToolError`."""
    rpc = client.rpc(chain_id)
    wei = read_quantity(await rpc.call("eth_getBalance", address, block_parameter(tag)), "a balance")
    return amount(wei, rpc.chain.symbol, rpc.chain.decimals)


async def read_nonce(client: EthereumClient, chain_id: int, address: str) -> int:
    """Read the number of transactions that an account has sent. Raises `ToolError`."""
    return read_quantity(await client.rpc(chain_id).call("eth_getTransactionCount", address, "latest"), "a nonce")


def delegate_of(code: bytes) -> str | None:
    """Return the contract that an account with this code delegates to (EIP-7702); None if it does not delegate."""
    return checksum(f"0x{code[3:].hex()}") if len(code) == 23 and code.startswith(DELEGATION) else None


async def _check(client: EthereumClient, chain_id: int, token: str, holder: str) -> CheckedToken:
    rpc = client.rpc(chain_id)
    try:
        value = await token_balance(rpc, token, holder, "latest")
        info = await token_info(rpc, token, "latest")
    except ToolError as error:
        if error.category != "not_found":
            raise
        return CheckedToken(token_address=token, error=error.message)
    return CheckedToken(token_address=token, balance=info.amount(value), decimals=info.decimals)
