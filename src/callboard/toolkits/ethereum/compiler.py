"""The Solidity compiler: a port, and `Solc`, which runs the compiler's command with its standard JSON interface.

The source code may be written by a model, so the compiler runs in an empty folder, with limits of time and output, and
its messages are shortened. Compiled contracts are cached by the hash of their sources.
"""

import asyncio
import hashlib
import json
import shlex
import tempfile
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from callboard import ToolError

from .abi import Abi, AbiInvalid
from .values import plain_text

SECONDS = 60.0
MAX_CACHED = 32
MAX_OUTPUT = 64_000_000
MAX_ERRORS = 5
_SELECTION = {"*": {"*": ["abi", "evm.bytecode.object"]}}


@dataclass(frozen=True, slots=True)
class CompiledContract:
    """A compiled contract."""

    name: str
    abi: Abi = field(repr=False)
    code: str = field(repr=False)
    """The code that creates the contract, as 0x…, without the arguments of its constructor."""


class Compiler(Protocol):
    """Compiles contracts."""

    async def compile(self, files: Mapping[str, str]) -> Mapping[str, CompiledContract]:
        """Compile source files, by path, and return their contracts by name. Raises `ToolError`.

        Of contracts that have the same name, each is returned as `path:name`, and none by its name alone.
        """
        ...


class Solc:
    """The Solidity compiler as a command that reads standard JSON from its input, such as `solc` or `solcjs`."""

    def __init__(self, command: str | Sequence[str] = "solc --standard-json") -> None:
        self._command = shlex.split(command) if isinstance(command, str) else list(command)
        self._compiled: OrderedDict[str, Mapping[str, CompiledContract]] = OrderedDict()

    async def compile(self, files: Mapping[str, str]) -> Mapping[str, CompiledContract]:
        """See `Compiler.compile`."""
        key = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
        if (known := self._compiled.get(key)) is not None:
            self._compiled.move_to_end(key)
            return known
        given = {
            "language": "Solidity",
            "sources": {path: {"content": text} for path, text in files.items()},
            "settings": {"optimizer": {"enabled": True, "runs": 200}, "outputSelection": _SELECTION},
        }
        made = self._compiled[key] = read_output(await self._run(json.dumps(given).encode()))
        while len(self._compiled) > MAX_CACHED:
            self._compiled.popitem(last=False)
        return made

    async def _run(self, given: bytes) -> bytes:
        with tempfile.TemporaryDirectory(prefix="callboard-solc-") as folder:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    cwd=folder,
                )
            except OSError as error:
                raise ToolError(
                    "There is no Solidity compiler. Set CALLBOARD_ETHEREUM_COMPILER to its command.",
                    category="configuration",
                    report=str(error),
                ) from error
            try:
                async with asyncio.timeout(SECONDS):
                    output, _ = await process.communicate(given)
            except TimeoutError:
                raise ToolError(f"The compiler took longer than {SECONDS:.0f} seconds.", category="permanent") from None
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.communicate()
        if len(output) > MAX_OUTPUT:
            raise ToolError("The output of the compiler is too large.", category="permanent")
        return output


def read_output(output: bytes) -> Mapping[str, CompiledContract]:
    """Read the standard JSON output of the compiler. Raises `ToolError` with its errors."""
    try:
        document: Any = json.loads(output[output.index(b"{") :])
        errors = [each for each in document.get("errors", ()) if each.get("severity") == "error"]
        if errors:
            texts = [plain_text(str(each.get("formattedMessage") or each.get("message")), 500) for each in errors]
            raise ToolError("The contract does not compile: " + " ".join(texts[:MAX_ERRORS]), category="validation")
        found: dict[str, CompiledContract] = {}
        by_path = cast("dict[str, dict[str, Any]]", document["contracts"])
        count = Counter(name for contracts in by_path.values() for name in contracts)
        for path, contracts in by_path.items():
            for name, fields in contracts.items():
                code = str(fields["evm"]["bytecode"]["object"])
                key = name if count[name] == 1 else f"{path}:{name}"
                found[key] = CompiledContract(name, Abi.parse(fields["abi"]), f"0x{code}")
        return found
    except (ValueError, KeyError, AttributeError, TypeError, AbiInvalid) as error:
        raise ToolError("The output of the compiler cannot be read.", report=repr(error)) from error
