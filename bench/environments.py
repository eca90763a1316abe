"""One virtual environment per peer, below `bench/.venvs`, created by uv on first use.

Peers cannot share an environment, because their dependencies conflict. So each is measured in its own, against the
floor in the same process. This module creates environments and starts processes in them; it measures nothing.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / "bench" / ".venvs"
OURS = "callboard"


@dataclass(frozen=True, slots=True)
class Peer:
    """The requirements of a peer, and the import statement of its users. Its calls are in `bench/peers/<name>.py`."""

    packages: tuple[str, ...]
    statement: str


HTTP_SERVER = ("uvicorn", "uvloop", "httptools")
"""The packages of the HTTP server that all MCP servers run on."""

PEERS = {
    "pydantic_ai": Peer(("pydantic-ai-slim",), "from pydantic_ai import Agent"),
    "fastmcp": Peer(("fastmcp", *HTTP_SERVER), "from fastmcp import FastMCP"),
    "mcp_sdk": Peer(("mcp", *HTTP_SERVER), "from mcp.server import MCPServer"),
    "langchain": Peer(("langchain-core",), "from langchain_core.tools import StructuredTool"),
    "langgraph": Peer(("langgraph",), "from langgraph.prebuilt import ToolNode"),
    "openai_agents": Peer(("openai-agents",), "from agents import Agent, function_tool"),
    "google_adk": Peer(("google-adk",), "from google.adk.agents import LlmAgent"),
    "strands": Peer(("strands-agents",), "from strands import Agent, tool"),
    "agno": Peer(("agno",), "from agno.agent import Agent"),
}


def choose(names: str) -> list[str]:
    """Parse `all`, `none` or a comma-separated list of peers. Raises ValueError for an unknown name."""
    chosen = {"all": list(PEERS), "none": []}.get(names, names.split(","))
    if unknown := [name for name in chosen if name not in PEERS]:
        raise ValueError(f"no such peer: {', '.join(unknown)}; known are {', '.join(PEERS)}")
    return chosen


def python_of(peer: str) -> Path:
    """Return the path of the peer's interpreter, whether or not it exists."""
    return VENVS / peer / "bin" / "python"


def prepare(peer: str, python: str | None = None) -> str:
    """Return the peer's interpreter, of the running Python or the given one. Its environment is made if missing."""
    name = peer if python is None else f"{peer}-{_version_of(python)}"
    if not python_of(name).exists():
        _install(name, python or sys.executable, *PEERS[peer].packages)
    return str(python_of(name))


def prepare_ours(python: str | None) -> str:
    """Return an interpreter that can import Callboard: the running one, or a new environment of the given Python."""
    if python is None:
        return sys.executable
    ours = f"{OURS}-{_version_of(python)}"
    if not python_of(ours).exists():
        # The core's requirements, and the parser of docstrings, in which the workloads describe their parameters.
        # Callboard's own source is on the path.
        _install(ours, python, "pydantic", "anyio", "docstring-parser")
    return str(python_of(ours))


def _version_of(python: str) -> str:
    script = "import platform; print(platform.python_version())"
    return subprocess.check_output([python, "-c", script], text=True).strip()


def works(python: str) -> bool:
    """Whether an interpreter can be started."""
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


def run(python: str, *arguments: str) -> str:
    """Run a process and return its standard output. Raises RuntimeError with the end of its errors if it fails."""
    done = subprocess.run([python, *arguments], cwd=ROOT, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed in {python}:\n{done.stderr[-2000:]}")
    return done.stdout


def worker(python: str, module: str, *arguments: str) -> Any:
    """Run a module of the benchmark with the given interpreter, and parse the JSON in the last line of its output."""
    return json.loads(run(python, "-m", module, *arguments).splitlines()[-1])


def version(python: str, name: str) -> str:
    """Return the installed version of a distribution, or `from source` if it is not installed."""
    package = PEERS[name].packages[0] if name in PEERS else name
    script = f"from importlib.metadata import distributions as d; print(*{{x.version for x in d(name={package!r})}})"
    return run(python, "-c", script).strip() or "from source"


def _install(name: str, python: str, *requirements: str) -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        raise RuntimeError("uv is needed to make a peer's environment; install it beside this Python")
    # Created under another name and moved when complete, so that an interrupted installation is not used.
    made, unfinished = VENVS / name, VENVS / f"{name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    subprocess.run([uv, "venv", "--quiet", "--relocatable", "--python", python, str(unfinished)], check=True)
    target = str(unfinished / "bin" / "python")
    subprocess.run([uv, "pip", "install", "--quiet", "--python", target, *requirements], check=True)
    unfinished.rename(made)


def environment() -> dict[str, str]:
    """Return the environment of a measured process."""
    # Byte code is cached, as for a user; telemetry is off; Callboard's source need not be installed.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    quiet = {"OTEL_SDK_DISABLED": "true", "AGNO_TELEMETRY": "false", "OPENAI_AGENTS_DISABLE_TRACING": "true"}
    path = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    return kept | quiet | {"PYTHONPATH": path}
