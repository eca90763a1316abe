"""Entries of a contract's interface (ABI): functions, events, errors, and their parameters. No I/O.

An ABI comes from other parties: its size, depth and types are bounded, and entries that cannot be used are left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

from eth_utils.crypto import keccak
from pydantic_core import from_json

EntryKind = Literal["function", "event", "error", "constructor"]

MAX_ENTRIES = 2_000
MAX_ABI_CHARACTERS = 2_000_000
MAX_PARAMETERS = 64
MAX_DEPTH = 8
MAX_NAME = 128
MAX_FIXED = 4_096
"""Elements of an array type of a fixed size."""

_TYPE = re.compile(r"(uint|int|address|bool|bytes|string|function|tuple)([0-9]*)((?:\[[0-9]*\])*)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_MUTABILITIES = ("pure", "view", "nonpayable", "payable")


class AbiInvalid(ValueError):
    """A type, signature or entry that cannot be used. The message says why."""


@dataclass(frozen=True, slots=True)
class AbiParameter:
    """A parameter of a function, event or error, or a component of a tuple."""

    name: str
    type: str
    """The type as it is written in a JSON ABI: `uint256`, `tuple[]`."""
    components: tuple["AbiParameter", ...] = ()
    is_indexed: bool = False

    @property
    def canonical(self) -> str:
        """The type as a signature has it: `(address,uint256)[]`."""
        if not self.type.startswith("tuple"):
            return self.type
        return f"({','.join(each.canonical for each in self.components)}){self.type[5:]}"

    @property
    def item(self) -> "AbiParameter":
        """An element of an array type."""
        return AbiParameter("", self.type[: self.type.rindex("[")], self.components)

    @property
    def is_array(self) -> bool:
        return self.type.endswith("]")

    @property
    def is_dynamic(self) -> bool:
        """Whether its encoding has no fixed size, so that an event has only the hash of an indexed one."""
        if self.type in ("bytes", "string") or self.type.endswith("[]"):
            return True
        return self.item.is_dynamic if self.is_array else any(each.is_dynamic for each in self.components)

    def to_json(self) -> dict[str, Any]:
        """Return the parameter as a JSON ABI has it."""
        components = [each.to_json() for each in self.components]
        return {"name": self.name, "type": self.type, "components": components, "indexed": self.is_indexed}

    def __str__(self) -> str:
        inner = f"({', '.join(map(str, self.components))}){self.type[5:]}" if self.components else self.type
        return " ".join(filter(None, (inner, "indexed" if self.is_indexed else "", self.name)))


@dataclass(frozen=True)
class AbiEntry:
    """A function, an event, an error or the constructor of a contract."""

    kind: EntryKind
    name: str
    inputs: tuple[AbiParameter, ...]
    outputs: tuple[AbiParameter, ...] = ()
    mutability: str = "nonpayable"
    is_anonymous: bool = False

    @cached_property
    def signature(self) -> str:
        """The canonical signature, which selectors and topics are hashes of."""
        return f"{self.name}({','.join(each.canonical for each in self.inputs)})"

    @cached_property
    def topic(self) -> bytes:
        """The hash of the signature, which is the first topic of an event."""
        return keccak(text=self.signature)

    @property
    def selector(self) -> bytes:
        """The first four bytes of the hash, which calldata and errors begin with."""
        return self.topic[:4]

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON ABI has it, which `read_entry` reads."""
        return {
            "type": self.kind,
            "name": self.name,
            "inputs": [each.to_json() for each in self.inputs],
            "outputs": [each.to_json() for each in self.outputs],
            "stateMutability": self.mutability,
            "anonymous": self.is_anonymous,
        }

    def __str__(self) -> str:
        text = f"{self.kind} {self.name}({', '.join(map(str, self.inputs))})".replace("constructor (", "constructor(")
        if self.kind in ("function", "constructor") and self.mutability != "nonpayable":
            text += f" {self.mutability}"
        return f"{text} returns ({', '.join(map(str, self.outputs))})" if self.outputs else text


class Abi:
    """The interface of a contract, with its entries by selector, topic and name."""

    def __init__(self, entries: Iterable[AbiEntry]) -> None:
        self.entries = tuple(entries)

    @cached_property
    def functions(self) -> Mapping[bytes, AbiEntry]:
        """Functions by selector. Of two with the same selector, the first counts."""
        return {entry.selector: entry for entry in reversed(self.entries) if entry.kind == "function"}

    @cached_property
    def errors(self) -> Mapping[bytes, AbiEntry]:
        """Errors by selector."""
        return {entry.selector: entry for entry in reversed(self.entries) if entry.kind == "error"}

    @cached_property
    def events(self) -> Mapping[bytes, Sequence[AbiEntry]]:
        """Events by topic. Two can share one, with other indexed parameters."""
        found: dict[bytes, list[AbiEntry]] = {}
        for entry in self.entries:
            if entry.kind == "event" and not entry.is_anonymous:
                found.setdefault(entry.topic, []).append(entry)
        return found

    def named(self, name: str) -> list[AbiEntry]:
        """Functions of a name."""
        return [entry for entry in self.entries if entry.kind == "function" and entry.name == name]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the entries as a JSON ABI, which `parse` reads."""
        return [entry.to_json() for entry in self.entries]

    @classmethod
    def parse(cls, document: Any) -> "Abi":
        """Read a JSON ABI: text, or a list of entries. Entries that cannot be used are left out.

        Raises `AbiInvalid` if it is no list, or too large.
        """
        if isinstance(document, str):
            if len(document) > MAX_ABI_CHARACTERS:
                raise AbiInvalid(f"the ABI is longer than {MAX_ABI_CHARACTERS} characters")
            try:
                document = from_json(document)
            except ValueError:
                raise AbiInvalid("the ABI is not valid JSON") from None
        if not isinstance(document, list):
            raise AbiInvalid("an ABI is a list of entries")
        given = cast("list[Any]", document)
        if len(given) > MAX_ENTRIES:
            raise AbiInvalid(f"the ABI has more than {MAX_ENTRIES} entries")
        return cls(_entries(given))


def _entries(given: Iterable[Any]) -> Iterator[AbiEntry]:
    for fields in given:
        try:
            if isinstance(fields, dict) and (entry := read_entry(cast("dict[str, Any]", fields))) is not None:
                yield entry
        except AbiInvalid:
            continue


def read_entry(fields: Mapping[str, Any]) -> AbiEntry | None:
    """Read an entry of a JSON ABI, or return None for one without parameters (`receive`). Raises `AbiInvalid`."""
    kind = fields.get("type", "function")
    if kind not in ("function", "event", "error", "constructor"):
        return None
    name = "" if kind == "constructor" else read_name(fields.get("name"))
    mutability = fields.get("stateMutability")
    if mutability not in _MUTABILITIES:  # before Solidity 0.4.16
        mutability = "view" if fields.get("constant") is True else "payable" if fields.get("payable") else "nonpayable"
    return AbiEntry(
        kind=kind,
        name=name,
        inputs=read_parameters(fields.get("inputs", ()), 0),
        outputs=read_parameters(fields.get("outputs", ()), 0) if kind == "function" else (),
        mutability=str(mutability),
        is_anonymous=fields.get("anonymous") is True,
    )


def read_parameters(given: Any, depth: int) -> tuple[AbiParameter, ...]:
    """Read the parameters of an entry. Raises `AbiInvalid`."""
    listed = cast("list[Any]", given) if isinstance(given, list | tuple) else None
    if listed is None or len(listed) > MAX_PARAMETERS or depth > MAX_DEPTH:
        raise AbiInvalid(f"parameters must be a list of at most {MAX_PARAMETERS}, nested at most {MAX_DEPTH} deep")
    found: list[AbiParameter] = []
    for each in listed:
        fields = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        kind = fields.get("type")
        if not isinstance(kind, str):
            raise AbiInvalid("a parameter has no type")
        components = read_parameters(fields.get("components", ()), depth + 1) if kind.startswith("tuple") else ()
        name = fields.get("name")
        found.append(
            AbiParameter(
                name if isinstance(name, str) and is_name(name) else "",
                read_type(kind, has_components=bool(components)),
                components,
                fields.get("indexed") is True,
            )
        )
    return tuple(found)


def read_type(text: str, *, has_components: bool = False) -> str:
    """Check a type and complete its short form (`uint` is `uint256`). Raises `AbiInvalid`."""
    found = _TYPE.fullmatch(text) if len(text) <= MAX_NAME else None
    if found is None:
        raise AbiInvalid(f"{text[:40]!r} is not a type")
    base, size, arrays = found[1], found[2], found[3]
    bits = int(size) if size and len(size) < 4 else 0
    if base in ("uint", "int"):
        size = size or "256"
        is_valid = size == "256" or (0 < bits <= 256 and bits % 8 == 0)
    elif base == "bytes":
        is_valid = not size or 0 < bits <= 32
    else:
        is_valid = not size and (base == "tuple") == has_components
    sizes = [int(each) for each in re.findall(r"\[([0-9]{1,9})\]", arrays)]
    total = 1
    for each in sizes:
        total *= each
    if not is_valid or not 0 < total <= MAX_FIXED or arrays.count("[") > MAX_DEPTH or re.search("[0-9]{10}", arrays):
        raise AbiInvalid(f"{text[:40]!r} is not a type that can be used")
    return f"{base if base != 'function' else 'bytes24'}{size}{arrays}"


def read_name(value: Any) -> str:
    """Check the name of an entry. Raises `AbiInvalid`."""
    if not isinstance(value, str) or not is_name(value):
        raise AbiInvalid("an entry has no name that is an identifier")
    return value


def is_name(text: str) -> bool:
    """Whether a text is an identifier of Solidity."""
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None
