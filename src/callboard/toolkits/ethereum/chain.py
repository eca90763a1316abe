"""A chain that the operator configured: its id, the addresses of its nodes, and its native unit. No I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from callboard import SettingsError, ToolError

MAX_CHAIN_ID = 2**53 - 1
MAX_URLS = 16

KNOWN_NAMES = {
    1: "Ethereum",
    10: "OP Mainnet",
    56: "BNB Smart Chain",
    100: "Gnosis",
    137: "Polygon",
    8453: "Base",
    17000: "Holesky",
    31337: "Development chain",
    42161: "Arbitrum One",
    43114: "Avalanche",
    560048: "Hoodi",
    11155111: "Sepolia",
}
"""Names of common chains, for a chain that is configured without one."""
PUBLIC_IDS = frozenset(KNOWN_NAMES) - {31337}
"""Public networks. A transaction that is signed for one of them has an effect there, whatever node it was sent to."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain and its nodes. Raises `SettingsError` for values that cannot be used."""

    id: int
    """The chain id (EIP-155), which every node must report."""
    rpc_urls: tuple[str, ...] = field(repr=False)
    """JSON-RPC addresses, in the order of preference. They may contain keys and are never displayed."""
    name: str = ""
    """A name for people. Common chains have one by default."""
    symbol: str = "ETH"
    """The symbol of the native unit."""
    decimals: int = 18
    """Decimal places of the native unit."""
    explorer_url: str | None = None
    """The address of a block explorer, for links."""
    development: bool = False
    """Whether the server may send transactions of its own here."""
    poll_seconds: float = 4.0
    """Seconds between two looks at a transaction that is followed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rpc_urls", tuple(self.rpc_urls))
        if not 0 < self.id <= MAX_CHAIN_ID:
            raise SettingsError(f"The chain id {self.id} is not valid; it must be from 1 to 2^53 - 1.")
        if not 0 < len(self.rpc_urls) <= MAX_URLS:
            raise SettingsError(f"The chain {self.id} needs from 1 to {MAX_URLS} JSON-RPC addresses.")
        if not all(url.startswith(("https://", "http://")) for url in self.rpc_urls):
            raise SettingsError(f"Each JSON-RPC address of the chain {self.id} must begin with https:// or http://.")
        if self.development and self.id in PUBLIC_IDS:
            raise SettingsError(
                f"The chain {self.id} is the public network {KNOWN_NAMES[self.id]} and cannot be a development chain. "
                "Start the node with another chain id, such as 31337."
            )
        if not 0 <= self.decimals <= 77 or self.poll_seconds <= 0:
            raise SettingsError(f"The chain {self.id} needs decimals from 0 to 77, and poll_seconds above 0.")
        if not self.name:
            object.__setattr__(self, "name", KNOWN_NAMES.get(self.id, f"Chain {self.id}"))

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


class _ChainSetting(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rpc_urls: list[str] = Field(min_length=1, max_length=MAX_URLS)
    name: str = ""
    symbol: str = "ETH"
    decimals: int = 18
    explorer_url: str | None = None
    development: bool = False
    poll_seconds: float | None = None


_SETTING: TypeAdapter[dict[int, list[str] | _ChainSetting]] = TypeAdapter(dict[int, list[str] | _ChainSetting])


def read_chains(text: str) -> tuple[Chain, ...]:
    """Parse the setting `ethereum_chains`: JSON with chain ids as keys, and addresses or a chain's fields as values.

    Raises `SettingsError`, which does not repeat the text, since it may contain keys.
    """
    try:
        given = _SETTING.validate_python(from_json(text))
    except (ValidationError, ValueError):
        raise SettingsError(
            "CALLBOARD_ETHEREUM_CHAINS is not valid. It must be JSON such as "
            '{"1": ["https://node.example"], "31337": {"rpc_urls": ["http://127.0.0.1:8545"], "development": true}}.'
        ) from None
    return tuple(_make(chain_id, fields) for chain_id, fields in given.items())


def _make(chain_id: int, fields: list[str] | _ChainSetting) -> Chain:
    if isinstance(fields, list):
        return Chain(chain_id, tuple(fields))
    options: dict[str, Any] = {name: value for name, value in fields if value is not None}
    return Chain(chain_id, tuple(options.pop("rpc_urls")), **options)


def chains_by_id(chains: Iterable[Chain]) -> Mapping[int, Chain]:
    """Index chains by id. Raises `SettingsError` if two have the same id."""
    found: dict[int, Chain] = {}
    for chain in chains:
        if chain.id in found:
            raise SettingsError(f"The chain {chain.id} is configured twice.")
        found[chain.id] = chain
    return found


def unknown_chain(chain_id: int, chains: Mapping[int, Chain]) -> ToolError:
    """Make the error for a chain that is not configured."""
    known = ", ".join(map(str, chains.values()))
    return ToolError(f"The chain {chain_id} is not configured. Use one of: {known}.", category="not_found")
