"""A real Chromium: its installation, its process, and its protocol.

The tests use the Chrome DevTools Protocol over a pair of pipes, which needs neither a port nor a package. `tab.py` has
the actions of a person on a page.
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

from tests.installation import installation
from tests.servers import Unavailable

NAMES = ("chromium", "chromium-browser", "google-chrome")
DEADLINE = 90.0
"""Seconds after which a wait of a test fails: it ends a test that hangs, and is long enough for a busy machine."""
INSTALLED_WITHIN = 900.0
"""Seconds that the installation may take."""

FLAGS = (
    "--headless",
    "--no-sandbox",  # it loads only our page, and the sandbox does not work for root
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

OnEvent = Callable[[str, dict[str, Any]], object]


def chromium() -> str:
    """Return the program, from `CHROMIUM` or the path. Root installs Debian's package if there is none.

    Raises `Unavailable`.
    """
    if named := os.environ.get("CHROMIUM"):
        return named
    if (found := _find_on_path()) is None:
        with installation("chromium"):  # two processes of one run may need it at once
            if _find_on_path() is None:
                _install()
        found = _find_on_path()
    if found is None:
        raise Unavailable("there is no chromium on the path, and CHROMIUM does not name one")
    return found


def _find_on_path() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def _install() -> None:
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    waiting = [f"-oDPkg::Lock::Timeout={INSTALLED_WITHIN:.0f}", "-oAcquire::Retries=3"]  # for another apt-get
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [apt, "--quiet", *waiting, *command],
                env=environment,
                capture_output=True,
                timeout=INSTALLED_WITHIN,
                check=False,
            )


class Refused(Exception):
    """The browser refused a command."""


class Browser:
    """A running browser. Events are delivered to their tabs while a command or `wait` reads from the pipe."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._rest = b""
        self._count = 0
        self._subscribers: dict[str, OnEvent] = {}
        self.version: str = self.call("Browser.getVersion")["product"]

    def call(self, method: str, tab: str | None = None, /, **params: Any) -> dict[str, Any]:
        """Send a command to the browser or to a tab. Returns the result; raises `Refused`."""
        self._count += 1
        number = self._count
        command = {"id": number, "method": method, "params": params} | ({} if tab is None else {"sessionId": tab})
        self._send(json.dumps(command).encode() + b"\0")
        while True:
            message = self._read_message()
            if message.get("id") == number:
                if "error" in message:
                    raise Refused(f"{method}: {message['error']['message']}")
                return message["result"]

    def wait(self, condition: Callable[[], object]) -> None:
        """Read events until a condition holds."""
        while not condition():
            self._read_message()

    def subscribe(self, tab: str, on_event: OnEvent) -> None:
        """Call `on_event` with the name and the fields of every event of a tab."""
        self._subscribers[tab] = on_event

    def _read_message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._reading], [], [], DEADLINE + 5)
            assert ready, "the browser does not respond"
            data = os.read(self._reading, 1 << 20)
            assert data, "the browser has ended"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(line)
        if "method" in message and (on_event := self._subscribers.get(message.get("sessionId", ""))):
            on_event(message["method"], message["params"])
        return message

    def _send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._writing, data) :]


@contextmanager
def browsing(*flags: str) -> Generator[Browser]:
    """Start a browser with an empty profile, which is deleted afterwards. Raises `Unavailable`."""
    program = chromium()
    with tempfile.TemporaryDirectory(prefix="callboard-chromium-", ignore_cleanup_errors=True) as home:
        child_in, own_out = _pipe()
        own_in, child_out = _pipe()
        try:
            with open(os.path.join(home, "stderr"), "wb") as log:
                process = os.posix_spawn(
                    program,
                    [program, *FLAGS, *flags, f"--user-data-dir={home}/profile", "about:blank"],
                    {**os.environ, "HOME": home},
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, child_in, 3),  # the descriptors that Chromium expects
                        (os.POSIX_SPAWN_DUP2, child_out, 4),
                        (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
                        (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
                    ],
                    setpgroup=0,
                )
        except OSError as error:
            for each in (child_in, child_out, own_in, own_out):
                os.close(each)
            raise Unavailable(f"{program} cannot be started: {error.strerror}") from error
        os.close(child_in)
        os.close(child_out)
        try:
            try:
                browser = Browser(own_in, own_out)
            except (AssertionError, OSError) as error:
                with open(os.path.join(home, "stderr"), errors="replace") as stderr:
                    raise Unavailable(f"{program} does not work: {stderr.read()[-500:]}") from error
            yield browser
        finally:
            os.close(own_in)
            os.close(own_out)  # Chromium exits when its pipe is closed
            _wait_for_exit(process)


def _pipe() -> tuple[int, int]:
    """Create a pipe with descriptors that differ from those in the child process."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _wait_for_exit(process: int) -> None:
    deadline = time.monotonic() + 5
    while os.waitpid(process, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # ends its child processes too
