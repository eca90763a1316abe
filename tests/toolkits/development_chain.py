"""A real development chain and the Solidity compiler, from packages that are installed once.

The chain is anvil on x86-64 and Hardhat elsewhere. Use only `eth_*`, `evm_*` and `hardhat_*` methods, which both have.
"""

import json
import platform
import socket
import subprocess
import time
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from eth_abi.abi import encode

from tests.node_packages import install, newest_node, newest_npm
from tests.servers import Unavailable

HERE = Path(__file__).parent / "chain"
CHAIN_ID = 31337
STARTED_WITHIN = 180.0
COMPILED_WITHIN = 600.0
MINED_WITHIN = 90.0

KEYS = (
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
)
"""Keys of the first accounts, which every development chain has and everyone knows."""
ACCOUNTS = (
    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
)


@dataclass(frozen=True)
class Compiled:
    """A compiled contract."""

    name: str
    abi: list[dict[str, Any]]
    code: str
    """The code that creates it, as 0x…, without arguments of the constructor."""
    source: str


class DevelopmentChain:
    """A running development chain."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.id = CHAIN_ID
        self._mining = True

    def call(self, method: str, *parameters: Any) -> Any:
        """Send a request to the node. Raises `RuntimeError` with the error of the node."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()
        request = urllib.request.Request(self.url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=90) as response:
            answer = json.load(response)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def send(self, **fields: Any) -> str:
        """Send a transaction of an unlocked account, the first one by default. Returns its hash, once it is mined."""
        sent = self.call("eth_sendTransaction", {"from": ACCOUNTS[0], **fields})
        deadline = time.monotonic() + MINED_WITHIN
        while self._mining and self.call("eth_getTransactionReceipt", sent) is None:  # a busy node answers before
            assert time.monotonic() < deadline, f"{sent} is not mined"
            time.sleep(0.01)
        return sent

    def deploy(self, contract: Compiled, types: tuple[str, ...] = (), arguments: tuple[Any, ...] = ()) -> str:
        """Deploy a contract. Returns its address in lower case."""
        sent = self.send(data=contract.code + encode(types, arguments).hex())
        return self.call("eth_getTransactionReceipt", sent)["contractAddress"]

    def mine(self, blocks: int = 1) -> None:
        """Mine blocks."""
        for _ in range(blocks):
            self.call("evm_mine")

    def nonce(self, address: str) -> int:
        """Count the transactions that an account has sent."""
        return int(self.call("eth_getTransactionCount", address, "latest"), 16)

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Restore the state of the chain at the end."""
        before = self.call("evm_snapshot")
        try:
            yield
        finally:
            self.call("evm_revert", before)

    @contextmanager
    def without_mining(self) -> Generator[None]:
        """Mine blocks only when they are asked for."""
        self.call("evm_setAutomine", False)
        self._mining = False
        try:
            yield
        finally:
            self._mining = True
            self.call("evm_setAutomine", True)


def _folder(name: str) -> Path:
    files = sorted(file for file in (HERE / name).iterdir() if file.is_file())
    return install(f"chain-{name}", files, newest_npm(), newest_node())


def _command(port: int) -> tuple[list[str], Path]:
    if platform.machine().lower() in ("x86_64", "amd64") and platform.system() == "Linux":
        folder = _folder("anvil")
        anvil = folder / "node_modules" / "@foundry-rs" / "anvil-linux-amd64" / "bin" / "anvil"
        return [str(anvil), "--host", "127.0.0.1", "--port", str(port), "--silent"], folder
    folder = _folder("hardhat")
    program = folder / "node_modules" / "hardhat" / "dist" / "src" / "cli.js"
    return [str(newest_node()), str(program), "node", "--hostname", "127.0.0.1", "--port", str(port)], folder


@contextmanager
def development_chain() -> Generator[DevelopmentChain]:
    """Start a development chain on a free port of this host. Raises `Unavailable`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command, folder = _command(port)
    try:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise Unavailable(f"the chain does not start: {error}") from error
    try:
        chain = DevelopmentChain(f"http://127.0.0.1:{port}/")
        deadline = time.monotonic() + STARTED_WITHIN
        while not _answers(chain):
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.05)
            if process.poll() is not None or time.monotonic() > deadline:
                raise Unavailable(f"the chain does not answer (exit code {process.poll()})")
        yield chain
    finally:
        process.kill()
        process.wait()


def _answers(chain: DevelopmentChain) -> bool:
    try:
        return int(chain.call("eth_chainId"), 16) == CHAIN_ID
    except OSError:
        return False


@cache
def compiled() -> Mapping[str, Compiled]:
    """Compile the contracts of the tests. Raises `Unavailable`."""
    sources = {path.name: path.read_text() for path in sorted((HERE / "contracts").glob("*.sol"))}
    return compile_sources(sources)


def compiler_command() -> tuple[str, ...]:
    """Return the command of the Solidity compiler with its standard JSON interface. Raises `Unavailable`."""
    folder = _folder("solc")
    return str(newest_node()), str(folder / "node_modules" / "solc" / "solc.js"), "--standard-json"


def compile_sources(sources: Mapping[str, str]) -> Mapping[str, Compiled]:
    """Compile Solidity files, by contract. Raises `Unavailable` if there is no compiler."""
    folder = _folder("solc")
    command = [str(newest_node()), str(folder / "compile.cjs")]
    done = subprocess.run(
        command, input=json.dumps(sources), capture_output=True, text=True, timeout=COMPILED_WITHIN, check=True
    )
    output = json.loads(done.stdout)
    errors = [each["formattedMessage"] for each in output.get("errors", ()) if each["severity"] == "error"]
    assert errors == []
    return {
        name: Compiled(name, fields["abi"], f"0x{fields['evm']['bytecode']['object']}", sources[path])
        for path, contracts in output["contracts"].items()
        for name, fields in contracts.items()
    }
