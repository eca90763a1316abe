"""A client that an attack must not affect: it repeats a call of one millisecond, and measures each.

It is a separate process, so that the cost of the attacker's client is not measured. At the same time it calls a control
server, which nothing attacks: what delays both is the machine. It reads its configuration as one line of JSON from
standard input, prints `ready` after its first calls, and prints its measurements when standard input ends.
"""

import http.client
import json
import sys
import threading
import time
from typing import Any

PAUSE = 0.025
"""Seconds between two calls: fewer per second than the default rate limit of one user."""


class Target:
    """A server that is called again and again by one thread."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._connection = http.client.HTTPConnection(config["host"], config["port"], timeout=config["timeout"])
        self.called = threading.Event()
        """Set after the first call."""
        self.calls: list[tuple[float, float]] = []
        """When each call was due, and how many seconds later its response had come."""
        self.failures: list[str] = []

    def call_until(self, end: threading.Event) -> None:
        due = time.monotonic()
        while not self.called.is_set() or not end.wait(PAUSE):
            try:
                failure = self._call()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                failure = f"{type(error).__name__}: {error}"
            done = time.monotonic()
            self.calls.append((due, done - due))
            if failure is not None:
                self.failures.append(failure)
            self.called.set()
            due = done + PAUSE

    def _call(self) -> str | None:
        """Make a call. Returns the reason of a failure, or None."""
        body = json.dumps({"session_id": self._config["session_id"], "tool": "tick", "arguments": {}})
        headers = {"authorization": f"Bearer {self._config['key']}", "content-type": "application/json"}
        self._connection.request("POST", "/api/executions", body, headers)
        response = self._connection.getresponse()
        text = response.read()
        if response.status != 200 or json.loads(text)["status"] != "succeeded":
            return f"{response.status} {text[:300].decode(errors='replace')}"
        return None


def main() -> None:
    """Call until standard input ends, then report."""
    targets = [Target(config) for config in json.loads(sys.stdin.readline())]
    end = threading.Event()
    threads = [threading.Thread(target=target.call_until, args=[end]) for target in targets]
    for thread in threads:
        thread.start()
    for target in targets:
        target.called.wait()
    _print_line("ready")
    sys.stdin.read()
    end.set()
    for thread in threads:
        thread.join()
    _print_line(json.dumps([{"calls": target.calls, "failures": target.failures} for target in targets]))


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
