"""The connections of the toolkit: an RPC client for each configured chain, and the sources of contracts.

It is the lifetime of the toolkit's tools: the runtime enters it before the first call and leaves it at its end. Several
runtimes may share one, also in several event loops.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Self

import anyio
import httpx2

from callboard import CallboardError, Settings, ToolContext, ToolError

from .chain import Chain, chains_by_id, read_chains, unknown_chain
from .clock import Clock, SystemClock
from .contract_folder import ContractFolder
from .contracts import ContractLookup, ContractSource, Standards
from .etherscan import Etherscan
from .rpc import RpcClient
from .sourcify import Sourcify
from .stored_contracts import StoredContracts

LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=30.0)


class _Connections:
    """The HTTP connections and the RPC clients of one event loop."""

    def __init__(self) -> None:
        self.users = 0
        self.http = httpx2.AsyncHTTPTransport(limits=LIMITS, trust_env=False)
        self.clients: dict[int, RpcClient] = {}


class EthereumClient:
    """Chains and contracts, as they are configured in code or in the environment. An async context manager."""

    def __init__(
        self,
        chains: Iterable[Chain] | None = None,
        *,
        sources: Iterable[ContractSource] | None = None,
        etherscan: Etherscan | None = None,
        development_key: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`chains` and `sources` replace those of the environment. `etherscan` is the indexer of transactions."""
        self.clock = clock or SystemClock()
        self._given_chains = None if chains is None else chains_by_id(chains)
        self._given_sources = None if sources is None else tuple(sources)
        self._given_etherscan = etherscan
        self._given_key = development_key
        self._lookup: ContractLookup | None = None
        self._open: dict[asyncio.AbstractEventLoop, _Connections] = {}

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        if (connections := self._open.get(loop)) is None:
            connections = self._open[loop] = _Connections()
        connections.users += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        connections = self._open[loop]
        connections.users -= 1
        if connections.users == 0:
            del self._open[loop]
            with anyio.CancelScope(shield=True):
                await connections.http.aclose()

    @property
    def chains(self) -> Mapping[int, Chain]:
        """The configured chains by id. Raises `ToolError` (configuration) if there is none."""
        if self._given_chains is None:
            self._given_chains = self._configured_chains()
        return self._given_chains

    def chain(self, chain_id: int) -> Chain:
        """Return a chain. Raises `ToolError` (`not_found`) if it is not configured."""
        if (found := self.chains.get(chain_id)) is None:
            raise unknown_chain(chain_id, self.chains)
        return found

    def rpc(self, chain_id: int) -> RpcClient:
        """Return the client for the nodes of a chain. Raises `ToolError` if it is not configured."""
        chain = self.chain(chain_id)
        connections = self._open.get(asyncio.get_running_loop())
        if connections is None:
            raise ToolError("The Ethereum toolkit is not started.", category="configuration")
        if (client := connections.clients.get(chain_id)) is None:
            client = connections.clients[chain_id] = RpcClient(chain, connections.http, self.clock)
        return client

    @property
    def contracts(self) -> ContractLookup:
        """The look-up of contracts: a local folder, the standards, Sourcify, and Etherscan if it has a key."""
        if self._lookup is None:
            self._lookup = ContractLookup(self._sources(), self.clock)
        return self._lookup

    def stored_contracts(self, ctx: ToolContext) -> StoredContracts:
        """Return the contracts that are stored for the user of a call."""
        return StoredContracts(ctx, self.clock)

    @property
    def etherscan(self) -> Etherscan | None:
        """The indexer of transactions, or None if there is no key."""
        if self._given_etherscan is None and (key := _settings().etherscan_key) is not None:
            self._given_etherscan = Etherscan(key)
        return self._given_etherscan

    @property
    def development_key(self) -> str | None:
        """The private key for development chains, or None: the nodes' own accounts are used."""
        return self._given_key or _settings().ethereum_key

    def _sources(self) -> tuple[ContractSource, ...]:
        if self._given_sources is not None:
            return self._given_sources
        folder = _settings().ethereum_contracts
        local: list[Any] = [] if folder is None else [ContractFolder(folder)]
        remote: list[Any] = [] if self.etherscan is None else [self.etherscan]
        return (*local, Standards(), Sourcify(), *remote)

    def _configured_chains(self) -> Mapping[int, Chain]:
        if (text := _settings().ethereum_chains) is None:
            raise ToolError(
                "There is no Ethereum chain. Set CALLBOARD_ETHEREUM_CHAINS to JSON with addresses by chain id, "
                'such as {"1": ["https://node.example"]}.',
                category="configuration",
            )
        try:
            return chains_by_id(read_chains(text))
        except CallboardError as error:
            message = "The setting CALLBOARD_ETHEREUM_CHAINS cannot be read."
            raise ToolError(message, category="configuration", report=str(error)) from error


def _settings() -> Settings:
    try:
        return Settings.from_environment()
    except CallboardError as error:
        raise ToolError("The settings cannot be read.", category="configuration", report=str(error)) from error
