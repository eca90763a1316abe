"""The processes of the server benchmark: a server on one core, and the load on another."""

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
"""Available cores: servers run on the first, the load on the last."""


class Server(NamedTuple):
    """A server process."""

    port: int
    pid: int

    async def drive(self, name: str, **body: Any) -> Any:
        return await ask(self.port, PREFIX + name, **body)

    def cpu(self) -> float:
        """Return the CPU time so far, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> float:
        """Bytes of memory."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return float(int(pages) * os.sysconf("SC_PAGE_SIZE"))


@contextmanager
def serving(module: str, *arguments: str) -> Generator[Server]:
    """Run a server inside the block."""
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
    """Run a part on the load's core with the maximum number of file descriptors, and print its figures."""
    pin(CORES[-1])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(json.dumps(uvloop.run(part)))
