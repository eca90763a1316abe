"""A whole deployment on this machine, for a try: PostgreSQL, NATS, workers and a server, in a temporary folder.

`./scripts/serve --workers 2 …` runs it. The data is removed at the end.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.nats_servers import nats_server
from tests.servers import postgres_server


def main(workers: int, options: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print("Starting PostgreSQL and NATS …", flush=True)
    with postgres_server() as postgres, nats_server() as nats, postgres.database() as store:
        environment = {**os.environ, "CALLBOARD_STORE": store, "CALLBOARD_ENGINE": nats.url}
        subprocess.run(["callboard", "migrate"], env=environment, check=True, stdout=subprocess.DEVNULL)
        tools = [f"--tools={options[place + 1]}" for place, each in enumerate(options) if each == "--tools"]
        tools += [each for each in options if each.startswith("--tools=")]
        command = ["callboard", "worker", "--json", *tools]
        server = subprocess.Popen(["callboard", "serve", *options], env=environment)
        running = [server, *(subprocess.Popen(command, env=environment) for _ in range(workers))]
        try:
            while server.poll() is None:
                time.sleep(0.2)
        except KeyboardInterrupt:
            pass
        finally:
            for process in running:
                process.send_signal(signal.SIGTERM)
            for process in running:
                process.wait(60)
    return server.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
