"""The processes of the question about the server: a server on one core, and the worker that loads it on another."""

import json
import os
import resource
import sys
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple

import uvloop

from bench.environments import ROOT
from bench.server_driver import PREFIX, pin
from bench.server_load import ask

CORES = sorted(os.sched_getaffinity(0))
"""Those that there are: servers run on the first, the load on the last."""


class Server(NamedTuple):
    """A process that serves."""

    port: int
    pid: int

    async def drive(self, name: str, **body: Any) -> Any:
        return await ask(self.port, PREFIX + name, **body)

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> float:
        """Bytes of memory."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return float(int(pages) * os.sysconf("SC_PAGE_SIZE"))


@contextmanager
def serving(module: str, *arguments: str) -> Generator[Server]:
    """A server, as long as it is needed."""
    process = Popen([sys.executable, "-m", module, str(CORES[0]), *arguments], stdout=PIPE, cwd=ROOT)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        if not said:
            raise RuntimeError(f"{module} did not start")
        yield Server(json.loads(said)["port"], process.pid)
    finally:
        process.kill()
        process.wait()


floor = partial(serving, "bench.server_floor")
ours = partial(serving, "bench.server_host")


def load(part: Coroutine[Any, Any, object]) -> None:
    """Carry out the worker's part on its core, with all connections that the system allows, and print what it found."""
    pin(CORES[-1])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(json.dumps(uvloop.run(part)))
