"""A user whom an attack must not reach: makes a call of one millisecond again and again, and measures each.

A process of its own, so that what the attacker's client costs does not count. Reads its orders as one line of JSON from
standard input, says `ready` after its first call, and ends when standard input does; then it prints what it saw.
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
    orders = json.loads(sys.stdin.readline())
    connection = http.client.HTTPConnection(orders["host"], orders["port"], timeout=orders["timeout"])
    delays: list[float] = []
    failures: list[str] = []
    while not (delays or failures) or not select.select([sys.stdin], [], [], PAUSE)[0]:
        began = time.perf_counter()
        try:
            failure = _call(connection, orders)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            failure = f"{type(error).__name__}: {error}"
        delays.append(time.perf_counter() - began)
        if failure is not None:
            failures.append(failure)
        if len(delays) == 1:
            _say("ready")
    _say(json.dumps({"delays": delays, "failures": failures}))


def _call(connection: http.client.HTTPConnection, orders: dict[str, Any]) -> str | None:
    """Why a call failed; None where it succeeded."""
    body = json.dumps({"session_id": orders["session_id"], "tool": "tick", "arguments": {}})
    headers = {"authorization": f"Bearer {orders['key']}", "content-type": "application/json"}
    connection.request("POST", "/api/executions", body, headers)
    response = connection.getresponse()
    text = response.read()
    if response.status != 200 or json.loads(text)["status"] != "succeeded":
        return f"{response.status} {text[:300].decode(errors='replace')}"
    return None


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
