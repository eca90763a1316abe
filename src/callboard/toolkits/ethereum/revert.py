"""The reason of a reverted call: `Error(string)`, `Panic(uint256)`, or an error of the contract's own. No I/O."""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, Field

from .abi import Abi, AbiEntry, AbiInvalid
from .abi_values import DecodedValue, decode_values, shortened_hex
from .signature import parse_signature
from .standards import all_standards

ERROR = parse_signature("Error(string reason)", "error")
PANIC = parse_signature("Panic(uint256 code)", "error")
PANICS = {
    0x00: "a generic panic of the compiler",
    0x01: "an assertion failed",
    0x11: "an arithmetic operation overflowed",
    0x12: "a division or modulo by zero",
    0x21: "a value is not a member of the enum",
    0x22: "an array in storage is encoded incorrectly",
    0x31: "an element was removed from an empty array",
    0x32: "an index is out of bounds",
    0x41: "too much memory was allocated, or an array is too large",
    0x51: "an uninitialised internal function was called",
}
MAX_REASON = 500


class Revert(BaseModel):
    """Why a call was reverted. The contract chooses the text, so it is not trusted."""

    kind: Literal["reason", "panic", "custom", "unknown", "none"] = Field(
        description="reason: a text; panic: a failed check of the language; custom: an error of the contract; unknown: "
        "an error that no known ABI has; none: there is no data"
    )
    reason: str = Field(description="The reason in words")
    error: str | None = Field(
        default=None, description="Signature of a custom error, or the selector of an unknown one"
    )
    arguments: list[DecodedValue] = Field(default=[], description="Arguments of a custom error")
    data: str | None = Field(default=None, description="The data of an unknown error")


def decode_revert(data: bytes, abis: Iterable[Abi] = ()) -> Revert:
    """Decode the data of a reverted call. Custom errors are looked up in the ABIs, and then in the standards."""
    if not data:
        return Revert(kind="none", reason="no reason was given")
    selector, body = data[:4], data[4:]
    if selector == ERROR.selector and (found := _decode(ERROR, body)) is not None:
        return Revert(kind="reason", reason=_shown(str(found[0].value)))
    if selector == PANIC.selector and (found := _decode(PANIC, body)) is not None:
        code = int(found[0].value)
        return Revert(kind="panic", reason=f"panic {code:#04x}: {PANICS.get(code, 'an unknown code')}", arguments=found)
    for abi in (*abis, all_standards()):
        entry = abi.errors.get(selector)
        if entry is not None and (found := _decode(entry, body)) is not None:
            shown = ", ".join(f"{each.name or each.type}={_shown(str(each.value), 100)}" for each in found)
            reason = _shown(f"{entry.name}({shown})")
            return Revert(kind="custom", reason=reason, error=entry.signature, arguments=found)
    name = f"0x{selector.hex()}"
    reason = f"an error that no known ABI has ({name})"
    return Revert(kind="unknown", reason=reason, error=name, data=shortened_hex(data))


def _decode(entry: AbiEntry, body: bytes) -> list[DecodedValue] | None:
    try:
        return decode_values(entry.inputs, body)
    except AbiInvalid:
        return None


def _shown(text: str, limit: int = MAX_REASON) -> str:
    """One bounded line of printable text."""
    line = "".join(each if each.isprintable() else " " for each in text[:limit]).strip()
    return line if len(text) <= limit else f"{line}…"
