"""Addresses, hexadecimal data, quantities and exact amounts: the types of arguments and results. No I/O."""

import re
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Annotated, Any

from eth_utils.address import to_checksum_address
from pydantic import AfterValidator, BaseModel, Field

from callboard import ToolError

from .chain import MAX_CHAIN_ID

MAX_WORD = 2**256 - 1
MAX_DATA = 262_146
"""Characters of hexadecimal data in an argument: 128 KB, the size that nodes accept in a transaction."""
ZERO_ADDRESS = "0x" + "0" * 40

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


@lru_cache(maxsize=4_096)
def checksum(address: str) -> str:
    """Return an address with its checksum (EIP-55). Raises `ValueError` if it is none, or has a wrong checksum."""
    if not _ADDRESS.fullmatch(address):
        raise ValueError("an address is 0x and 40 hexadecimal digits")
    digits = address[2:]
    made = to_checksum_address(address)
    if digits != digits.lower() and digits != digits.upper() and address != made:
        raise ValueError(
            "the checksum of the address is wrong, so a digit may be too; check it, or write it in lower case if you "
            "are sure"
        )
    return made


def _word(text: str) -> str:
    if int(text) > MAX_WORD:
        raise ValueError("the amount is larger than 2^256 - 1")
    return str(int(text))


ChainId = Annotated[int, Field(ge=1, le=MAX_CHAIN_ID, description="Id of the chain, such as 1 for Ethereum")]
OptionalChain = Annotated[ChainId | None, Field(description="Id of the chain, such as 1 for Ethereum")]
Address = Annotated[str, Field(pattern="^0x[0-9a-fA-F]{40}$"), AfterValidator(checksum)]
"""An address. Its checksum is verified, unless it is all in lower or upper case."""
HexData = Annotated[str, Field(pattern="^0x([0-9a-fA-F]{2})*$", max_length=MAX_DATA)]
TransactionHash = Annotated[
    str, Field(pattern="^0x[0-9a-fA-F]{64}$", description="Hash of the transaction"), AfterValidator(str.lower)
]
Wei = Annotated[str, Field(pattern="^[0-9]{1,78}$"), AfterValidator(_word)]
"""An amount in the smallest native unit, as text."""
BlockTag = Annotated[
    str,
    Field(
        pattern="^(latest|pending|earliest|safe|finalized|[0-9]{1,15}|0x[0-9a-fA-F]{1,12})$",
        description="Block: latest, pending, earliest, safe, finalized, or its number",
    ),
]


class Amount(BaseModel):
    """An exact amount."""

    value: str = Field(description="Exact integer in the smallest unit")
    unit: str = Field(description="The smallest unit, such as wei")
    decimal: str | None = Field(description="The same amount in whole units, exact; null if they are not known")
    symbol: str = Field(description="The whole unit, such as ETH")


def amount(value: int, symbol: str, decimals: int | None = 18, unit: str = "wei") -> Amount:
    """Make an amount of an integer in the smallest unit. Without `decimals`, the amount in whole units is not known."""
    decimal = None if decimals is None else in_units(value, decimals)
    return Amount(value=str(value), unit=unit, decimal=decimal, symbol=symbol)


def in_units(value: int, decimals: int) -> str:
    """Write an integer in the smallest unit as a decimal number of whole units, exactly."""
    with localcontext() as context:
        context.prec = 200
        text = f"{Decimal(value).scaleb(-decimals):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def block_parameter(tag: str) -> str:
    """Return a block tag as JSON-RPC expects it."""
    return hex(int(tag)) if tag.isdecimal() else tag.lower()


def bad_answer(what: str) -> ToolError:
    """Create the error for an invalid value in a node's response."""
    return ToolError(f"The node's answer is not {what}.", category="permanent")


def read_quantity(value: object, what: str = "a number") -> int:
    """Parse a quantity of a node. Raises `ToolError`."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise bad_answer(what)
    return int(value, 16)


def optional_quantity(value: object) -> int | None:
    """Parse a quantity of a node that may be missing. Raises `ToolError`."""
    return None if value is None else read_quantity(value)


def read_data(value: object, what: str = "hexadecimal data") -> bytes:
    """Parse data of a node. Raises `ToolError`."""
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise bad_answer(what)
    return bytes.fromhex(value[2:])


def read_address(value: object) -> str | None:
    """Parse an address of a node, or None if it is missing. Raises `ToolError`."""
    if value is None:
        return None
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise bad_answer("an address")
    return to_checksum_address(value)


def read_hash(value: object) -> str | None:
    """Parse a hash of a node, or None if it is missing. Raises `ToolError`."""
    if value is None:
        return None
    if len(data := read_data(value, "a hash")) != 32:
        raise bad_answer("a hash")
    return f"0x{data.hex()}"


def plain_text(value: Any, limit: int) -> str:
    """One bounded line of printable ASCII, for names that a contract chooses."""
    return _UNPRINTABLE.sub("?", str(value)[:limit])


def address_or_none(value: object) -> str | None:
    """Return an address of a web service with its checksum, or None if it is none."""
    return to_checksum_address(value) if isinstance(value, str) and _ADDRESS.fullmatch(value) else None
