"""Reads of ERC-20 tokens. Anything a token says about itself is untrusted: names are shortened, numbers bounded."""

from dataclasses import dataclass

from callboard import ToolError

from .abi import AbiInvalid
from .abi_values import encode_call
from .codec import CODEC
from .rpc import RpcClient
from .rpc_errors import Reverted
from .signature import parse_signature
from .values import Amount, amount, plain_text, read_data

BALANCE = parse_signature("balanceOf(address account) view returns (uint256)")
DECIMALS = parse_signature("decimals() view returns (uint8)")
SYMBOL = parse_signature("symbol() view returns (string)")
MAX_SYMBOL = 32


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """How a token writes its amounts."""

    symbol: str | None
    decimals: int | None
    """None if the token does not say, so that only the exact integer is known."""

    def amount(self, value: int) -> Amount:
        """Make an amount of this token."""
        symbol = self.symbol or "token"
        return amount(value, symbol, self.decimals, f"smallest unit of {symbol}")


async def token_info(rpc: RpcClient, token: str, block: str) -> TokenInfo:
    """Read symbol and decimals, which are optional in the standard. Raises `ToolError`."""
    decimals, symbol = (
        await _read(rpc, token, DECIMALS.selector, block),
        await _read(rpc, token, SYMBOL.selector, block),
    )
    places = int.from_bytes(decimals[:32]) if len(decimals) >= 32 else None
    return TokenInfo(_symbol(symbol), places if places is not None and places <= 77 else None)


async def token_balance(rpc: RpcClient, token: str, holder: str, block: str) -> int:
    """Read the balance of a holder. Raises `ToolError` (`not_found`) if there is no token at the address."""
    answer = await _read(rpc, token, encode_call(BALANCE, [holder]), block)
    if len(answer) != 32:
        raise ToolError(
            f"There is no ERC-20 token at {token} on {rpc.chain}. Check the address and the chain.",
            category="not_found",
        )
    return int.from_bytes(answer)


async def _read(rpc: RpcClient, token: str, data: bytes, block: str) -> bytes:
    try:
        return read_data(await rpc.call("eth_call", {"to": token, "data": f"0x{data.hex()}"}, block))
    except Reverted:
        return b""


def _symbol(data: bytes) -> str | None:
    """The symbol: text, or in old tokens 32 bytes."""
    if len(data) == 32:
        return plain_text(data.rstrip(b"\0").decode(errors="replace"), MAX_SYMBOL) or None
    try:
        return plain_text(CODEC.decode(SYMBOL.outputs, data)[0], MAX_SYMBOL) or None if data else None
    except AbiInvalid:
        return None
