"""Plans whose process is killed at random instants: every transaction is sent, and none twice.

The chain tells: each group sends to an address of its own, so a second transaction would double its balance, and the
number of transactions of the account is the number of groups.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.toolkits.development_chain import ACCOUNTS, DevelopmentChain
from tests.toolkits.plan_child import GROUPS, PLANS, WORTH, recipient

ROOT = Path(__file__).parents[2]
DEADLINE = 600.0
"""Seconds after which ten plans must be done, however often their process is killed."""
LONGEST = {1: 2.0, 100: 6.0}
"""Seconds after which a process is killed at the latest, by the number of kills."""


@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_k3_plans_send_every_transaction_once_although_processes_are_killed(
    chain: DevelopmentChain, sqlite_url: str, kills: int
) -> None:
    seed = int.from_bytes(os.urandom(3))
    chance, killed, rounds = random.Random(seed), 0, 0
    first = 1_000 * kills  # the tests share a chain, and each round has recipients of its own
    before = chain.nonce(ACCOUNTS[0])
    while killed < kills or not rounds:
        deadline = time.monotonic() + DEADLINE
        progress = None
        while progress is None:
            assert time.monotonic() < deadline, "the plans are not done"
            after = chance.uniform(0, LONGEST[kills]) if killed < kills else None
            progress = run(sqlite_url, chain.url, first + rounds, after)
            killed += progress is None
        assert progress >= PLANS * GROUPS, "people see the progress of every group"
        for plan in range(PLANS):
            for group in range(GROUPS):
                held = int(chain.call("eth_getBalance", recipient(first + rounds, plan, group), "latest"), 16)
                assert held == WORTH, f"seed {seed}: group {group} of plan {plan} sent {held // WORTH} transactions"
        rounds += 1
    sent = chain.nonce(ACCOUNTS[0]) - before
    assert sent == rounds * PLANS * GROUPS, f"seed {seed}"
    told = f"{killed} kills (seed {seed}), {rounds} rounds of {PLANS} plans, {sent} transactions, doubled = 0"
    sys.stdout.write(f"\n{told}\n")


def run(store: str, url: str, round_number: int, killed_after: float | None) -> int | None:
    """Let a process work, and kill it after so many seconds. Returns its reports of progress; None if it was killed."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.toolkits.plan_child", store, url, str(round_number)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"working\n"
        output, _ = child.communicate(timeout=killed_after or DEADLINE)
    except subprocess.TimeoutExpired:
        child.kill()
        output, _ = child.communicate()
        assert killed_after is not None, "the plans are not done"
    assert output or child.returncode == -signal.SIGKILL
    return json.loads(output)["progress"] if output else None
