"""Signatures as people write them, such as `transfer(address to, uint256 amount) returns (bool)`. No I/O."""

import re
from functools import lru_cache

from callboard import ToolError

from .abi import MAX_DEPTH, MAX_PARAMETERS, AbiEntry, AbiInvalid, AbiParameter, EntryKind, is_name, read_type

MAX_SIGNATURE = 2_000

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*(?:\[[0-9]*\])*|[(),]|(?:\[[0-9]*\])+|\S", re.ASCII)
_MODIFIERS = frozenset({"memory", "calldata", "storage", "payable"})
_SUFFIXES = frozenset({"external", "public", "internal", "private", "virtual", "override", "nonpayable"})
_MUTABILITIES = frozenset({"pure", "view", "payable", "nonpayable"})


@lru_cache(maxsize=256)
def parse_signature(text: str, kind: EntryKind = "function") -> AbiEntry:
    """Read a signature, with or without the names of parameters, `function` or `event` before it, and return types.

    Raises `AbiInvalid`.
    """
    if len(text) > MAX_SIGNATURE:
        raise AbiInvalid(f"the signature is longer than {MAX_SIGNATURE} characters")
    reader = _Reader(_WORD.findall(text.strip().rstrip(";")))
    if reader.peek in ("function", "event", "error") and reader.second != "(":
        stated = reader.take()
        if stated != kind:
            raise AbiInvalid(f"it begins with {stated!r}, but a signature of the kind {kind!r} is needed")
    name = reader.take()
    if not is_name(name):
        raise AbiInvalid("it must begin with a name")
    inputs = reader.parameters(0)
    outputs, mutability, is_anonymous = (), "nonpayable", False
    while word := reader.take():
        if word in _MUTABILITIES:
            mutability = word
        elif word == "returns" and kind == "function":
            outputs = reader.parameters(0)
        elif word == "anonymous" and kind == "event":
            is_anonymous = True
        elif word not in _SUFFIXES:
            raise AbiInvalid(f"{word!r} is not expected after the parameters")
    return AbiEntry(kind, name, inputs, outputs, mutability, is_anonymous)


def read_signature(text: str, kind: EntryKind = "function", argument: str = "function_signature") -> AbiEntry:
    """Read a signature of an argument. Raises `ToolError` (validation) with an example."""
    example = {
        "function": "transfer(address to, uint256 amount) returns (bool)",
        "event": "Transfer(address indexed from, address indexed to, uint256 value)",
    }.get(kind, "InsufficientBalance(uint256 available, uint256 required)")
    try:
        return parse_signature(text, kind)
    except AbiInvalid as error:
        raise ToolError(
            f"{argument} cannot be read: {error}. Write it like {example}.", category="validation"
        ) from None


class _Reader:
    """The words of a signature, read from left to right."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._at = 0

    @property
    def peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    @property
    def second(self) -> str:
        return self._words[self._at + 1] if self._at + 1 < len(self._words) else ""

    def take(self) -> str:
        word = self.peek
        self._at += 1
        return word

    def parameters(self, depth: int) -> tuple[AbiParameter, ...]:
        """Read a list in parentheses."""
        if self.take() != "(":
            raise AbiInvalid("the types of the parameters must be in parentheses")
        if depth > MAX_DEPTH:
            raise AbiInvalid(f"tuples can be nested {MAX_DEPTH} deep")
        found: list[AbiParameter] = []
        if self.peek == ")":
            self.take()
            return ()
        while True:
            found.append(self._parameter(depth))
            match self.take():
                case ",":
                    continue
                case ")":
                    break
                case "":
                    raise AbiInvalid("a closing parenthesis is missing")
                case word:
                    raise AbiInvalid(f"{word!r} is not expected in a list of parameters")
        if len(found) > MAX_PARAMETERS:
            raise AbiInvalid(f"there are more than {MAX_PARAMETERS} parameters")
        return tuple(found)

    def _parameter(self, depth: int) -> AbiParameter:
        components: tuple[AbiParameter, ...] = ()
        if self.peek == "tuple" and self.second == "(":
            self.take()
        if self.peek == "(":
            components = self.parameters(depth + 1)
            arrays = self.take() if self.peek.startswith("[") else ""
            kind = read_type(f"tuple{arrays}", has_components=bool(components))
        else:
            kind = read_type(self.take())
        name, is_indexed = "", False
        while self.peek not in (",", ")", ""):
            word = self.take()
            if word == "indexed" and not is_indexed:
                is_indexed = True
            elif word not in _MODIFIERS:
                if name or not is_name(word):
                    raise AbiInvalid(f"{word!r} is not expected after the type {kind}")
                name = word
        return AbiParameter(name, kind, components, is_indexed)
