"""Sourcify, the open repository of verified contracts. It needs no key."""

from typing import cast

from ..http import Limits
from .contracts import Contract, ContractQuery, make_contract, text_files
from .service_request import LIMITS, object_of, request_json
from .values import address_or_none


class Sourcify:
    """A server of Sourcify (API version 2). It finds contracts by chain and address only."""

    name = "sourcify"

    def __init__(self, url: str = "https://sourcify.dev/server", *, limits: Limits = LIMITS) -> None:
        self._url = url.rstrip("/")
        self._limits = limits

    async def find(self, query: ContractQuery) -> Contract | None:
        """Return a verified contract. Raises `ToolError`."""
        if not query.is_by_address:
            return None
        fields = {"fields": "abi,sources,compilation,proxyResolution"}
        url = f"{self._url}/v2/contract/{query.chain_id}/{query.address}"
        answer = await request_json("Sourcify", url, fields, limits=self._limits)
        if answer is None or answer.get("match") is None:
            return None
        compilation = object_of(answer.get("compilation"))
        compiler = compilation.get("compilerVersion")
        return make_contract(
            self.name,
            compilation.get("name"),
            answer.get("abi"),
            text_files(answer.get("sources")),
            chain_id=query.chain_id,
            address=query.address,
            compiler=compiler[:100] if isinstance(compiler, str) else None,
            is_exact=answer.get("match") == "exact_match",
            implementation=_implementation(answer.get("proxyResolution")),
        )


def _implementation(resolution: object) -> str | None:
    """The contract behind a proxy, if there is exactly one."""
    fields = object_of(resolution)
    listed = fields.get("implementations")
    found = cast("list[object]", listed) if isinstance(listed, list) else []
    return address_or_none(object_of(found[0]).get("address")) if len(found) == 1 else None
