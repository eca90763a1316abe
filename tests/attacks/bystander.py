"""A client that an attack must not affect: it repeats a call of one millisecond, and measures each.

It is a separate process, so that the cost of the attacker's client is not measured. It reads its configuration as one
line of JSON from standard input, prints `ready` after its first call, and prints its measurements when standard input
ends.
"""

import http.client
import json
import select
import sys
import time
from typing import Any

PAUSE = 0.025
"""Seconds between two calls: fewer per second than the default rate limit of one user."""


def main() -> None:
    """Call until standard input ends, then report."""
    config = json.loads(sys.stdin.readline())
    connection = http.client.HTTPConnection(config["host"], config["port"], timeout=config["timeout"])
    delays: list[float] = []
    failures: list[str] = []
    while not (delays or failures) or not select.select([sys.stdin], [], [], PAUSE)[0]:
        began = time.perf_counter()
        try:
            failure = _call(connection, config)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            failure = f"{type(error).__name__}: {error}"
        delays.append(time.perf_counter() - began)
        if failure is not None:
            failures.append(failure)
        if len(delays) == 1:
            _print_line("ready")
    _print_line(json.dumps({"delays": delays, "failures": failures}))


def _call(connection: http.client.HTTPConnection, config: dict[str, Any]) -> str | None:
    """Make a call. Returns the reason of a failure, or None."""
    body = json.dumps({"session_id": config["session_id"], "tool": "tick", "arguments": {}})
    headers = {"authorization": f"Bearer {config['key']}", "content-type": "application/json"}
    connection.request("POST", "/api/executions", body, headers)
    response = connection.getresponse()
    text = response.read()
    if response.status != 200 or json.loads(text)["status"] != "succeeded":
        return f"{response.status} {text[:300].decode(errors='replace')}"
    return None


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
