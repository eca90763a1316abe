"""Verified contracts: the port to a source of ABIs and source code, and the look-up over several sources.

Found contracts are cached in memory, by count and size, and by `stored_contracts` in the documents of the user.
Everything in a contract is written by other parties.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from callboard import ToolError

from .abi import Abi, AbiInvalid
from .clock import Clock
from .standards import NAMES, standard_abi
from .values import plain_text

MAX_FILES = 500
MAX_SOURCE = 4_000_000
"""Characters of all files of a contract."""
MAX_CACHED = 256
MAX_CACHED_CHARACTERS = 32_000_000
MAX_AGE = 86_400.0
"""Seconds for which a contract that was found is used: the implementation of a proxy may change."""
MISSING_SECONDS = 60.0
"""Seconds for which a contract that was not found is not looked up again."""


@dataclass(frozen=True, slots=True)
class ContractQuery:
    """A contract to look up: by chain and address, or by its description."""

    chain_id: int | None = None
    address: str | None = None
    name: str | None = None
    symbol: str | None = None
    protocol: str | None = None
    contract_type: str | None = None
    version: str | None = None

    @property
    def is_by_address(self) -> bool:
        return self.chain_id is not None and self.address is not None

    def matches(self, fields: Mapping[str, Any]) -> bool:
        """Whether described fields agree with all that is asked for."""
        wanted = {
            "name": self.name,
            "symbol": self.symbol,
            "protocol": self.protocol,
            "contract_type": self.contract_type,
            "version": self.version,
            "address": self.address,
        }
        if self.chain_id is not None and fields.get("chain_id") not in (None, self.chain_id):
            return False
        return all(value is None or _folded(fields.get(name)) == _folded(value) for name, value in wanted.items())

    def __str__(self) -> str:
        if self.address is not None:
            return f"{self.address} on chain {self.chain_id}"
        parts = (self.name, self.symbol, self.protocol, self.contract_type, self.version)
        return plain_text(" ".join(filter(None, parts)), 200)


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract that a source has."""

    source: str
    """The name of the source."""
    name: str
    abi: Abi = field(repr=False)
    files: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The source code by path."""
    chain_id: int | None = None
    address: str | None = None
    compiler: str | None = None
    is_exact: bool | None = None
    """Whether the compiled source is exactly the deployed code. None: the source does not say."""
    implementation: str | None = None
    """The contract behind a proxy, if the source says so."""
    found_at: float | None = None
    """When a source found it, in seconds since 1970. None: now."""

    @property
    def size(self) -> int:
        """An estimate of its size in memory, in characters."""
        return 200 * len(self.abi.entries) + sum(map(len, self.files.values()))


class ContractSource(Protocol):
    """A source of contracts. What is found is stored, unless the source has an attribute `is_local` that is true."""

    @property
    def name(self) -> str: ...

    async def find(self, query: ContractQuery) -> Contract | None:
        """Return a contract, or None if this source does not have it. Raises `ToolError` if it cannot say."""
        ...


class ContractStore(ContractSource, Protocol):
    """Stored contracts of other sources."""

    async def save(self, query: ContractQuery, found: Contract) -> None:
        """Store a contract."""
        ...


class Standards:
    """The interfaces of token standards, by name or type, such as `ERC-20`. They have no source code."""

    name = "standard"
    is_local = True

    async def find(self, query: ContractQuery) -> Contract | None:
        """Return a standard whose name is asked for."""
        if query.address is not None:
            return None
        wanted = {_folded(each) for each in (query.name, query.contract_type) if each}
        for name in NAMES:
            if wanted & {_folded(name), _folded(name).replace("erc", "ierc")}:
                return Contract(self.name, name, standard_abi(name))
        return None


class ContractLookup:
    """Looks contracts up in several sources, in order, and keeps what it finds."""

    def __init__(self, sources: Sequence[ContractSource], clock: Clock) -> None:
        self._sources = tuple(sources)
        self._clock = clock
        self._found: OrderedDict[ContractQuery, Contract] = OrderedDict()
        self._missing: OrderedDict[ContractQuery, float] = OrderedDict()
        self._characters = 0

    async def find(self, query: ContractQuery, stored: ContractStore | None = None) -> Contract | None:
        """Return a contract, or None if no source has it.

        Stored contracts are looked up before the first source that is not local. A source that fails is skipped.
        Raises its `ToolError` if no other source has the contract.
        """
        if (known := self._found.get(query)) is not None and not is_old(known, self._clock):
            self._found.move_to_end(query)
            return known
        if self._missing.get(query, 0.0) > self._clock.monotonic():
            return None
        failure: ToolError | None = None
        for source in self._sources_with(stored):
            try:
                if (found := await source.find(query)) is not None:
                    if found.found_at is None:
                        found = replace(found, found_at=self._clock.time())
                    self._keep(query, found)
                    if stored is not None and not _is_local(source):
                        await stored.save(query, found)
                    return found
            except ToolError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        self._missing[query] = self._clock.monotonic() + MISSING_SECONDS
        while len(self._missing) > MAX_CACHED:
            self._missing.popitem(last=False)
        return None

    async def get(self, query: ContractQuery, stored: ContractStore | None = None) -> Contract:
        """Return a contract. Raises `ToolError` (`not_found`) if no source has it."""
        if (found := await self.find(query, stored)) is None:
            names = ", ".join(source.name for source in self._sources)
            raise ToolError(
                f"No verified contract was found for {query} ({names}). Check chain and address, or describe it "
                "differently.",
                category="not_found",
            )
        return found

    async def abi_of(self, chain_id: int, address: str, stored: ContractStore | None = None) -> Abi | None:
        """Return the ABI of an address with that of its implementation, or None if it is not known, for any reason."""
        try:
            found = await self.find(ContractQuery(chain_id, address), stored)
            if found is None or found.implementation is None:
                return None if found is None else found.abi
            behind = await self.find(ContractQuery(chain_id, found.implementation), stored)
        except ToolError:
            return None
        return found.abi if behind is None else Abi((*behind.abi.entries, *found.abi.entries))

    def _sources_with(self, stored: ContractStore | None) -> Sequence[ContractSource]:
        if stored is None:
            return self._sources
        place = next((n for n, source in enumerate(self._sources) if not _is_local(source)), len(self._sources))
        return (*self._sources[:place], stored, *self._sources[place:])

    def _keep(self, query: ContractQuery, found: Contract) -> None:
        if found.size > MAX_CACHED_CHARACTERS // 4:
            return
        if (before := self._found.pop(query, None)) is not None:  # another call looked it up meanwhile
            self._characters -= before.size
        self._found[query] = found
        self._characters += found.size
        while len(self._found) > MAX_CACHED or self._characters > MAX_CACHED_CHARACTERS:
            self._characters -= self._found.popitem(last=False)[1].size


def is_old(found: Contract, clock: Clock) -> bool:
    """Whether a contract was found too long ago, or at a time that is not past."""
    return found.found_at is not None and abs(clock.time() - found.found_at) > MAX_AGE


def make_contract(source: str, name: object, abi: object, files: Mapping[str, str], **more: Any) -> Contract:
    """Make a contract of a source's fields. Raises `ToolError` if its ABI cannot be read."""
    try:
        read = Abi.parse(abi)
    except AbiInvalid as error:
        raise ToolError(
            f"The contract source {source} returned an ABI that cannot be used: {error}.", category="permanent"
        ) from None
    made = Contract(source, plain_text(name or "", 100), read, **more)
    return replace(made, files=bounded_files(files))


def bounded_files(files: Mapping[str, str]) -> Mapping[str, str]:
    """Keep the first files, up to the limit of all together."""
    kept: dict[str, str] = {}
    left = MAX_SOURCE
    for path, text in list(files.items())[:MAX_FILES]:
        kept[plain_text(path, 300)] = text[:left]
        left -= len(text)
        if left <= 0:
            break
    return kept


def text_files(value: object) -> dict[str, str]:
    """Read files in the form of the compiler's input: `{"path": {"content": "text"}}`."""
    if not isinstance(value, dict):
        return {}
    found: dict[str, str] = {}
    for path, fields in cast("dict[str, Any]", value).items():
        content = cast("dict[str, Any]", fields).get("content") if isinstance(fields, dict) else fields
        if isinstance(content, str):
            found[str(path)] = content
    return found


def _is_local(source: ContractSource) -> bool:
    return bool(getattr(source, "is_local", False))


def _folded(value: object) -> str:
    return "".join(each for each in str(value or "").casefold() if each.isalnum())
