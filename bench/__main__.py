"""`python -m bench`: run one benchmark or all, print the results, and fail if a bound does not hold."""

import argparse
import shutil

from bench import (
    attacks,
    conversation,
    dispatch,
    engine,
    environments,
    ethereum,
    execution,
    imports,
    mcp_calls,
    results,
    schemas,
    server,
    size,
    stores,
)
from bench.benchmark import Benchmark, Options

BENCHMARKS: dict[str, Benchmark] = {
    "dispatch": dispatch,
    "execution": execution,
    "schemas": schemas,
    "imports": imports,
    "size": size,
    "stores": stores,
    "conversation": conversation,
    "server": server,
    "attacks": attacks,
    "ethereum": ethereum,
    "engine": engine,
    "mcp": mcp_calls,
}


def main() -> int:
    """Return 1 if a bound fails. A quick run checks that everything works; its figures are printed and not stored."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("benchmark", nargs="?", default="all", choices=[*BENCHMARKS, "all"])
    parser.add_argument("--peers", default="none", help="none, all, or some of " + ",".join(environments.PEERS))
    parser.add_argument("--rounds", type=int, help="number of rounds (5; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="short batches; the results are not stored")
    parser.add_argument("--python", help="path of the interpreter for Callboard's own part and the peers of `dispatch`")
    given = parser.parse_args()
    try:
        peers = environments.choose(given.peers)
    except ValueError as error:
        parser.error(str(error))
    if given.python is not None and shutil.which(given.python) is None:
        parser.error(f"--python {given.python}: there is no such program; give the path of a Python interpreter")
    options = Options(peers, given.rounds or (1 if given.quick else 5), given.quick, given.python)
    chosen = BENCHMARKS if given.benchmark == "all" else {given.benchmark: BENCHMARKS[given.benchmark]}
    failed = False
    for name, benchmark in chosen.items():
        data = benchmark.measure(options)
        if not options.quick:
            results.save(name, data, options)
        verdicts = results.judge(benchmark, data)
        failed = failed or any(verdict.failed for verdict in verdicts)
        print(f"\n{benchmark.TITLE}\n")
        print(results.plain(benchmark.report(data)), results.plain(results.verdict_table(verdicts)), sep="\n\n")
    if not options.quick:
        results.write(BENCHMARKS)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
