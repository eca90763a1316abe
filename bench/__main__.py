"""`python -m bench`: measure one question or all, print the results, and fail if a bound does not hold."""

import argparse

from bench import attacks, conversation, dispatch, environments, execution, imports, results, schemas, server, stores
from bench.question import Options, Question

QUESTIONS: dict[str, Question] = {
    "dispatch": dispatch,
    "execution": execution,
    "schemas": schemas,
    "imports": imports,
    "stores": stores,
    "conversation": conversation,
    "server": server,
    "attacks": attacks,
}


def main() -> int:
    """Returns 1 if a bound fails. A quick run checks that everything works; its figures are printed but not stored."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("question", nargs="?", default="all", choices=[*QUESTIONS, "all"])
    parser.add_argument("--peers", default="none", help="none, all, or some of " + ",".join(environments.PEERS))
    parser.add_argument("--rounds", type=int, help="how often to go over everyone (5; 1 if quick)")
    parser.add_argument("--quick", action="store_true", help="short batches, nothing kept")
    parser.add_argument("--python", help="another interpreter for Callboard itself")
    given = parser.parse_args()
    try:
        peers = environments.choose(given.peers)
    except ValueError as error:
        parser.error(str(error))
    options = Options(peers, given.rounds or (1 if given.quick else 5), given.quick, given.python)
    asked = QUESTIONS if given.question == "all" else {given.question: QUESTIONS[given.question]}
    failed = False
    for name, question in asked.items():
        data = question.measure(options)
        if not options.quick:
            results.save(name, data, options)
        verdicts = results.judge(question, data)
        failed = failed or any(verdict.failed for verdict in verdicts)
        print(f"\n{question.TITLE}\n")
        print(results.plain(question.report(data)), results.plain(results.verdict_table(verdicts)), sep="\n\n")
    if not options.quick:
        results.write(QUESTIONS)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
