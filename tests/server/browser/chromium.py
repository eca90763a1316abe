"""A real Chromium: how it is had, and how it is spoken to.

It is spoken to in the Chrome DevTools Protocol over a pair of pipes, which needs neither a port nor a package. What a
person does on a page is in `tab.py`.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

from tests.servers import Unavailable

NAMES = ("chromium", "chromium-browser", "google-chrome")
DEADLINE = 20.0
"""Seconds that anything may take before a test gives up."""
INSTALLED_WITHIN = 300.0
"""Seconds that the installation may take."""

FLAGS = (
    "--headless",
    "--no-sandbox",  # it sees no page but ours, and root has no sandbox
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)

Heard = Callable[[str, dict[str, Any]], object]


def chromium() -> str:
    """The program: that of `CHROMIUM`, one on the path, or Debian's package where we may install it."""
    if named := os.environ.get("CHROMIUM"):
        return named
    if (found := _on_the_path()) is None:
        _install()
        found = _on_the_path()
    if found is None:
        raise Unavailable("there is no chromium on the path, and CHROMIUM does not name one")
    return found


def _on_the_path() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def _install() -> None:
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [apt, "--quiet", *command], env=environment, capture_output=True, timeout=INSTALLED_WITHIN, check=False
            )


class Refused(Exception):
    """The browser cannot do what it was told to."""


class Browser:
    """A browser that runs. Tabs hear what happens in them while anything is asked of it."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._rest = b""
        self._count = 0
        self._hearing: dict[str, Heard] = {}
        self.version: str = self.call("Browser.getVersion")["product"]

    def call(self, method: str, tab: str | None = None, /, **params: Any) -> dict[str, Any]:
        """Tell it something, the whole browser or one tab, and return what it says."""
        self._count += 1
        number = self._count
        told = {"id": number, "method": method, "params": params} | ({} if tab is None else {"sessionId": tab})
        self._send(json.dumps(told).encode() + b"\0")
        while True:
            said = self._hear()
            if said.get("id") == number:
                if "error" in said:
                    raise Refused(f"{method}: {said['error']['message']}")
                return said["result"]

    def wait(self, condition: Callable[[], object]) -> None:
        """Listen until something holds that an event brings about."""
        while not condition():
            self._hear()

    def hearing(self, tab: str, heard: Heard) -> None:
        """Have `heard` called with the name and the fields of every event of a tab."""
        self._hearing[tab] = heard

    def _hear(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._reading], [], [], DEADLINE + 5)
            assert ready, "the browser says nothing any more"
            data = os.read(self._reading, 1 << 20)
            assert data, "the browser has ended"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        said = json.loads(line)
        if "method" in said and (heard := self._hearing.get(said.get("sessionId", ""))):
            heard(said["method"], said["params"])
        return said

    def _send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._writing, data) :]


@contextmanager
def browsing() -> Generator[Browser]:
    """A browser with an empty profile, which is gone afterwards. Raises `Unavailable`."""
    program = chromium()
    with tempfile.TemporaryDirectory(prefix="callboard-chromium-", ignore_cleanup_errors=True) as home:
        theirs_in, ours_out = _pipe()
        ours_in, theirs_out = _pipe()
        try:
            with open(os.path.join(home, "stderr"), "wb") as log:
                process = os.posix_spawn(
                    program,
                    [program, *FLAGS, f"--user-data-dir={home}/profile", "about:blank"],
                    {**os.environ, "HOME": home},
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, theirs_in, 3),  # where Chromium looks for them
                        (os.POSIX_SPAWN_DUP2, theirs_out, 4),
                        (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
                        (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
                    ],
                    setpgroup=0,
                )
        except OSError as error:
            for each in (theirs_in, theirs_out, ours_in, ours_out):
                os.close(each)
            raise Unavailable(f"{program} cannot be started: {error.strerror}") from error
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            try:
                browser = Browser(ours_in, ours_out)
            except (AssertionError, OSError) as error:
                with open(os.path.join(home, "stderr"), errors="replace") as said:
                    raise Unavailable(f"{program} does not work: {said.read()[-500:]}") from error
            yield browser
        finally:
            os.close(ours_in)
            os.close(ours_out)  # it ends when its pipe is closed
            _ended(process)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are none of the numbers that they get in the child."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _ended(process: int) -> None:
    deadline = time.monotonic() + 5
    while os.waitpid(process, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # its helpers go with it
