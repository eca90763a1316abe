"""A folder with ABIs and source code of contracts, described by `index.json`.

The index is a list of contracts: `{"name", "abi", "sources", "chain_id", "address", "symbol", "protocol",
"contract_type", "version"}`, of which `name` and `abi` are required. `abi` is the path of a JSON file (an ABI, or an
artifact that has one), and `sources` is a list of paths. Paths are relative and stay in the folder.
"""

from pathlib import Path
from typing import Any, cast

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from callboard import ToolError

from .contracts import MAX_FILES, MAX_SOURCE, Contract, ContractQuery, make_contract
from .values import Address

MAX_INDEX = 8_000_000
MAX_FILE = 4_000_000


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    abi: str
    sources: list[str] = Field(default=[], max_length=MAX_FILES)
    chain_id: int | None = None
    address: Address | None = None
    symbol: str | None = None
    protocol: str | None = None
    contract_type: str | None = None
    version: str | None = None
    compiler: str | None = None


_INDEX: TypeAdapter[list[_Entry]] = TypeAdapter(list[_Entry])


class ContractFolder:
    """A folder of contracts on this host. It is read again for each contract that is not cached."""

    name = "folder"
    is_local = True

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    async def find(self, query: ContractQuery) -> Contract | None:
        """Return the first contract of the index that matches. Raises `ToolError` (configuration) for a faulty one."""
        return await anyio.to_thread.run_sync(self._find, query)

    def _find(self, query: ContractQuery) -> Contract | None:
        try:
            index = _INDEX.validate_json(self._read("index.json", MAX_INDEX))
            entry = next((each for each in index if query.matches(each.model_dump())), None)
            if entry is None:
                return None
            abi: Any = from_json(self._read(entry.abi, MAX_FILE))
            files: dict[str, str] = {}
            for path in entry.sources:
                files[path] = self._read(path, MAX_SOURCE)
        except (OSError, ValidationError, ValueError) as error:
            raise ToolError(
                "The folder of contracts cannot be read.",
                category="configuration",
                report=f"CALLBOARD_ETHEREUM_CONTRACTS: {type(error).__name__}: {str(error)[:200]}",
            ) from error
        return make_contract(
            self.name,
            entry.name,
            cast("dict[str, Any]", abi).get("abi") if isinstance(abi, dict) else abi,
            files,
            chain_id=entry.chain_id,
            address=entry.address,
            compiler=entry.compiler,
        )

    def _read(self, name: str, limit: int) -> str:
        root = self._folder.resolve(strict=True)
        path = (root / name).resolve(strict=True)
        if not path.is_relative_to(root):
            raise ValueError("a path leads out of the folder")
        with path.open("rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"a file is larger than {limit} bytes")
        return data.decode()
