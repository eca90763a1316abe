"""The toolkit as a toolset: all tools, and the workers, over one client."""

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from callboard import RetryPolicy, Tool

from .abi_tools import abi_tools
from .account_tools import account_tools, balance_worker
from .call_tools import call_tools
from .chain import Chain
from .chain_tools import chain_tools
from .client import EthereumClient
from .clock import Clock
from .contract_tools import contract_tools
from .contracts import ContractSource
from .etherscan import Etherscan
from .send_tools import send_tools
from .tx_status import status_tool

RETRY = RetryPolicy(max_attempts=3, base_delay=0.5, max_delay=10.0)
TIMEOUT = 30.0


class EthereumToolset:
    """The tools of the toolkit, for the tools of a runtime, and its workers, for the workers of one."""

    def __init__(self, client: EthereumClient, namespace: str = "ethereum") -> None:
        self.client = client
        self._namespace = namespace
        status = self._finished(status_tool(client))
        made = (
            *abi_tools(client),
            *contract_tools(client),
            *account_tools(client),
            *call_tools(client),
            *chain_tools(client),
            *send_tools(client),
        )
        self._tools = (*map(self._finished, made), status)
        by_name = {tool.name: tool for tool in self._tools}
        self.workers: tuple[Tool, ...] = (
            by_name["gas_price"],
            status,
            by_name["decode_calldata"],
            self._finished(balance_worker(client)),
        )
        """Tools that answer requests of people, for the `workers` of a runtime."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def tools(self) -> Sequence[Tool]:
        """The tools for models."""
        return self._tools

    def on_change(self, callback: Callable[[], Any]) -> None:
        """Do nothing: the tools do not change."""

    def _finished(self, tool: Tool) -> Tool:
        """Give a tool the options that all of the toolkit have. The client is entered before its first call."""
        return tool.with_(
            namespace=self._namespace,
            group="ethereum",
            tags=("network",),
            timeout=tool.timeout or (None if tool.handler is None else TIMEOUT),
            retry=RETRY if tool.idempotent else None,
            lifetime=None if tool.handler is None else self.client,
        )


def ethereum_toolset(
    chains: Iterable[Chain] | None = None,
    *,
    sources: Iterable[ContractSource] | None = None,
    etherscan: Etherscan | None = None,
    development_key: str | None = None,
    clock: Clock | None = None,
    namespace: str = "ethereum",
) -> EthereumToolset:
    """Make the toolset for chains, or for those of the environment (`CALLBOARD_ETHEREUM_CHAINS`).

    `sources` replace the sources of contracts: a local folder, the standards, Sourcify and Etherscan. `etherscan` is
    the indexer of transactions, and a source by default. `development_key` signs on development chains alone. `clock`
    is the time of `tx_status`, breakers and caches. Raises `SettingsError` if a chain is configured twice.
    """
    client = EthereumClient(chains, sources=sources, etherscan=etherscan, development_key=development_key, clock=clock)
    return EthereumToolset(client, namespace)
