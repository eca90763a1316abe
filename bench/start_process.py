"""The CPU time of a new process: of a command from start to end, and of a server until its first answers."""

import json
import os
import re
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from bench.environments import ROOT, environment

_COMMAND = [sys.executable, "-c", "from callboard.cli import main; main()"]
_STORE = "sqlite:///callboard.db"
_ADDRESS = re.compile(r"http://(\S+)")


class ServerStart(NamedTuple):
    """CPU seconds that a server has used after its first answers."""

    request: float
    """After the response to its first request, which creates or opens a session."""
    turn: float
    """After its first turn with the offline model."""


def command_seconds(*arguments: str) -> float:
    """Return the CPU seconds of `callboard` with these arguments. Raises RuntimeError if it fails."""
    process = subprocess.Popen([*_COMMAND, *arguments], cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if process.returncode or status:
        raise RuntimeError(f"callboard {' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime


def server_start(folder: Path) -> ServerStart:
    """Start `callboard serve` with the offline model on the store of a folder, and let it answer."""
    command = [*_COMMAND, "serve", "--port", "0", "--store", _STORE, "--model", "offline"]
    process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = next((found[1] for line in process.stdout if (found := _ADDRESS.search(line))), None)
        if address is None:
            raise RuntimeError("the server did not start")
        connection = HTTPConnection(address, timeout=60)
        _post(connection, "/api/sessions", session_id="first")
        request = _cpu(process.pid)
        _take_a_turn(connection)
        return ServerStart(request, _cpu(process.pid))
    finally:
        process.terminate()
        process.stdout.close()
        process.wait()


def _take_a_turn(connection: HTTPConnection) -> None:
    posted = _post(connection, "/api/chat", session_id="first", message="What time is it in Paris?")
    connection.request("GET", f"/api/chat/stream?session_id=first&after={posted['seq']}")
    for line in connection.getresponse():
        if line.startswith(b"event: turn_finished"):
            return
    raise RuntimeError("the turn did not finish")


def _post(connection: HTTPConnection, path: str, **body: str) -> Any:
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    if response.status >= 300:
        raise RuntimeError(f"POST {path}: {response.read().decode()}")
    return json.loads(response.read())


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
