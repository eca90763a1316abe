"""Etherscan, as a source of verified contracts and as an indexer of transactions, for many chains with one key.

The key is part of each address, which is why no error contains one.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from pydantic_core import from_json

from callboard import ToolError

from ..http import Limits
from .contracts import Contract, ContractQuery, make_contract, text_files
from .service_request import LIMITS, object_of, request_json
from .values import address_or_none

UNVERIFIED = "Contract source code not verified"


class Etherscan:
    """Etherscan's API, version 2."""

    name = "etherscan"

    def __init__(self, key: str, url: str = "https://api.etherscan.io/v2/api", *, limits: Limits = LIMITS) -> None:
        self._key = key
        self._url = url
        self._limits = limits

    async def find(self, query: ContractQuery) -> Contract | None:
        """Return a verified contract, by chain and address only. Raises `ToolError`."""
        if not query.is_by_address:
            return None
        result = await self._ask(query.chain_id, "contract", "getsourcecode", address=query.address)
        fields = object_of(next(iter(result), None))
        abi = fields.get("ABI")
        if abi == UNVERIFIED or not isinstance(abi, str):
            return None
        compiler = fields.get("CompilerVersion")
        return make_contract(
            self.name,
            fields.get("ContractName"),
            abi,
            _source_files(fields.get("SourceCode"), fields.get("ContractName")),
            chain_id=query.chain_id,
            address=query.address,
            compiler=compiler[:100] if isinstance(compiler, str) else None,
            implementation=address_or_none(fields.get("Implementation")),
        )

    async def transactions(self, chain_id: int, address: str, *, count: int) -> list[Mapping[str, Any]]:
        """Return the newest transactions of an account, newest first, as Etherscan's fields. Raises `ToolError`."""
        return await self._ask(
            chain_id,
            "account",
            "txlist",
            address=address,
            startblock=0,
            endblock=10**12,
            page=1,
            offset=count,
            sort="desc",
        )

    async def _ask(self, chain_id: int | None, module: str, action: str, **more: object) -> list[Mapping[str, Any]]:
        query = {"chainid": chain_id, "module": module, "action": action, **more, "apikey": self._key}
        answer = await request_json("Etherscan", self._url, query, limits=self._limits)
        if answer is None:
            raise ToolError("Etherscan answered with status 404.", category="configuration")
        result = answer.get("result")
        if isinstance(result, list):  # also an empty one, with the status 0
            return [object_of(each) for each in cast("list[object]", result)]
        raise _refusal(f"{answer.get('message')} {result}")


def _refusal(text: str) -> ToolError:
    """Name an error of Etherscan, which has the status 200 and only words."""
    words = text.lower()
    if "rate limit" in words:
        return ToolError("Etherscan limits its requests.", category="rate_limited", retry_after=1.0)
    if "api key" in words or "apikey" in words:
        message = "Etherscan refuses the key. Check CALLBOARD_ETHERSCAN_KEY."
        return ToolError(message, category="configuration")
    if "chain" in words or "not supported" in words or "free api access" in words:
        return ToolError("Etherscan does not serve this chain with this key.", category="not_found")
    if "timeout" in words or "timed out" in words or "server busy" in words:
        return ToolError("Etherscan is not available at the moment.", category="transient")
    return ToolError("Etherscan refuses the request.", category="permanent")


def _source_files(source: object, name: object) -> dict[str, str]:
    """Read source code: plain text, files as JSON, or the compiler's input as JSON in another pair of braces."""
    if not isinstance(source, str) or not source:
        return {}
    if source.startswith("{"):
        text = source[1:-1] if source.startswith("{{") else source
        read: Mapping[str, Any] = {}
        with suppress(ValueError):
            read = object_of(from_json(text))
        if files := text_files(read.get("sources", read)):
            return files
    return {f"{name}.sol": source}
