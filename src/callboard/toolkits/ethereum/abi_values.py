"""Values of ABI types: from the text of an argument to Python, and from Python to JSON. No I/O.

Numbers are text in both directions, since JSON readers may round large ones. A value in an argument is written as
text, arrays and tuples as JSON.
"""

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, cast

from eth_utils.address import to_checksum_address
from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import from_json

from callboard import ToolError

from .abi import AbiEntry, AbiInvalid, AbiParameter
from .codec import CODEC
from .values import checksum

MAX_ARGUMENTS = 64
MAX_ARGUMENT = 100_000
MAX_TEXT = 20_000
"""Characters of a decoded text or of hexadecimal data that are returned."""

_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_NUMBER = re.compile(r"-?[0-9]{1,80}")
_HEX_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,64}")


def as_text(value: Any) -> str:
    """Write a value that is not text as JSON: models give numbers and lists too."""
    return value if isinstance(value, str) else json.dumps(value)


ArgumentText = Annotated[str, BeforeValidator(as_text), Field(max_length=MAX_ARGUMENT)]
Arguments = Annotated[
    list[ArgumentText],
    Field(
        max_length=MAX_ARGUMENTS,
        description="Arguments in order, each as text: numbers in decimal, addresses and bytes as 0x…, arrays and "
        'tuples as JSON, such as ["1", "2"]',
    ),
]


class DecodedValue(BaseModel):
    """A decoded argument, output or field."""

    name: str = Field(description="Its name, or empty if the ABI has none")
    type: str
    value: Any = Field(description="Numbers as text, bytes as 0x…, tuples as objects or lists")


def encode_call(entry: AbiEntry, arguments: Sequence[str]) -> bytes:
    """Make the calldata of a function. Raises `ToolError` (validation) with the argument that does not fit."""
    return entry.selector + encode_arguments(entry, arguments)


def encode_arguments(entry: AbiEntry, arguments: Sequence[str]) -> bytes:
    """Encode arguments without a selector. Raises `ToolError` (validation) with the argument that does not fit."""
    if len(arguments) != len(entry.inputs):
        raise ToolError(
            f"{entry.signature} takes {len(entry.inputs)} arguments, not {len(arguments)}.", category="validation"
        )
    try:
        values = [
            read_argument(parameter, text, f"arguments[{index}]")
            for index, (parameter, text) in enumerate(zip(entry.inputs, arguments, strict=True))
        ]
        return CODEC.encode(entry.inputs, values)
    except AbiInvalid as error:
        raise ToolError(f"{error}.", category="validation") from None


def read_argument(parameter: AbiParameter, text: str, where: str) -> Any:
    """Read the text of an argument. Raises `AbiInvalid` with its place."""
    if parameter.is_array or parameter.components:
        try:
            value = from_json(text)
        except ValueError:
            raise AbiInvalid(f"{where} must be JSON, since its type is {parameter.canonical}") from None
        return _read(parameter, value, where)
    return _read(parameter, text, where)


def _read(parameter: AbiParameter, value: Any, where: str) -> Any:
    kind = parameter.type
    if parameter.is_array:
        return _read_array(parameter, value, where)
    if kind == "tuple":
        return _read_tuple(parameter, value, where)
    if kind.startswith(("uint", "int")):
        return _read_integer(kind, value, where)
    if kind == "bool":
        if value in (True, "true", "True", "1"):
            return True
        if value in (False, "false", "False", "0"):
            return False
        raise AbiInvalid(f"{where} must be true or false")
    if not isinstance(value, str):
        raise AbiInvalid(f"{where} must be text, since its type is {kind}")
    if kind == "address":
        try:
            return checksum(value.strip())
        except ValueError as error:
            raise AbiInvalid(f"{where} is not a valid address: {error}") from None
    if kind == "string":
        return value
    if not _HEX.fullmatch(value.strip()):
        raise AbiInvalid(f"{where} must be 0x and hexadecimal digits in pairs, since its type is {kind}")
    data = bytes.fromhex(value.strip()[2:])
    if kind != "bytes" and len(data) != int(kind[5:]):
        raise AbiInvalid(f"{where} has {len(data)} bytes, but its type is {kind}")
    return data


def _read_array(parameter: AbiParameter, value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise AbiInvalid(f"{where} must be a list, since its type is {parameter.canonical}")
    items, size = cast("list[Any]", value), parameter.type[parameter.type.rindex("[") + 1 : -1]
    if size and len(items) != int(size):
        raise AbiInvalid(f"{where} has {len(items)} elements, but its type is {parameter.canonical}")
    return [_read(parameter.item, each, f"{where}[{index}]") for index, each in enumerate(items)]


def _read_tuple(parameter: AbiParameter, value: Any, where: str) -> tuple[Any, ...]:
    components = parameter.components
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        names = [each.name for each in components]
        if sorted(fields) != sorted(names):
            raise AbiInvalid(f"{where} must have the fields {', '.join(names)}")
        value = [fields[name] for name in names]
    if not isinstance(value, list) or len(cast("list[Any]", value)) != len(components):
        raise AbiInvalid(f"{where} must be a list of {len(components)} values, since its type is {parameter.canonical}")
    return tuple(
        _read(component, each, f"{where}.{component.name or index}")
        for index, (component, each) in enumerate(zip(components, cast("list[Any]", value), strict=True))
    )


def _read_integer(kind: str, value: Any, where: str) -> int:
    is_signed = kind.startswith("int")
    bits = int(kind.lstrip("uint"))
    number: int | None = None
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text):
            number = int(text)
        elif _HEX_NUMBER.fullmatch(text):
            number = int(text, 16)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:  # such as 1e3, which is exact
        number = int(value)
    if number is None:
        raise AbiInvalid(f"{where} must be a whole number, in decimal, since its type is {kind}")
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    if not low <= number <= high:
        raise AbiInvalid(f"{where} is out of the range of {kind}")
    return number


def decode_values(parameters: Sequence[AbiParameter], data: bytes, *, is_whole: bool = False) -> list[DecodedValue]:
    """Decode data to JSON values. Raises `AbiInvalid`."""
    values = CODEC.decode(parameters, data, is_whole=is_whole)
    return [decoded(parameter, value) for parameter, value in zip(parameters, values, strict=True)]


def decoded(parameter: AbiParameter, value: Any) -> DecodedValue:
    """Make a result of a decoded value."""
    return DecodedValue(name=parameter.name, type=parameter.canonical, value=to_json_value(parameter, value))


def to_json_value(parameter: AbiParameter, value: Any) -> Any:
    """Write a decoded value as JSON, without loss. Long texts and data are cut, with a note of their size."""
    if parameter.is_array:
        return [to_json_value(parameter.item, each) for each in value]
    if parameter.components:
        fields = [to_json_value(each, part) for each, part in zip(parameter.components, value, strict=True)]
        names = [each.name for each in parameter.components]
        return dict(zip(names, fields, strict=True)) if all(names) and len(set(names)) == len(names) else fields
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return shortened_hex(value)
    if parameter.type == "address":
        return to_checksum_address(value)
    text = str(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text)} characters)"


def shortened_hex(data: bytes) -> str:
    """Write data as 0x…, cut if it is long."""
    limit = MAX_TEXT // 2
    return f"0x{data.hex()}" if len(data) <= limit else f"0x{data[:limit].hex()}… ({len(data)} bytes)"
