"""A process that executes plans on a development chain until it is killed or they are done. See `test_plan_kills`."""

import asyncio
import hashlib
import json
import sys
from contextlib import aclosing
from typing import Any

from callboard import Runtime, Session
from callboard.toolkits.ethereum import Chain, DevelopmentSigner, Solc, ethereum_plan_tools, ethereum_toolset
from tests.toolkits.development_chain import CHAIN_ID, KEYS

PLANS = 10
GROUPS = 15
WORTH = 1_000
"""Amount that each group sends, in wei."""


def recipient(round_number: int, plan: int, group: int) -> str:
    """Return the address that only one group of one plan sends to."""
    return f"0x{hashlib.sha256(f'{round_number}/{plan}/{group}'.encode()).hexdigest()[:40]}"


def groups_of(round_number: int, plan: int) -> list[dict[str, Any]]:
    """Make a plan of fifteen groups: five that can start at once, and two after each."""
    return [
        {
            "name": f"g{number}",
            "description": f"Send {WORTH} wei",
            "operations": [
                {
                    "kind": "send",
                    "to": recipient(round_number, plan, number),
                    "value": str(WORTH),
                    "chain_id": CHAIN_ID,
                    "broadcast": "development_key",
                }
            ],
            "dependencies": [f"g{number % 5}"] if number >= 5 else [],
        }
        for number in range(GROUPS)
    ]


async def carry_out(session: Session, round_number: int, plan: int) -> None:
    """Set a plan, unless that was done before, and execute it until it is done."""
    made = await session.call("set_execution_plan", {"groups": groups_of(round_number, plan)}, call_id=f"set {plan}")
    assert made.error is None, made.error
    plan_id = made.value["plan_id"]
    attempt = 0
    while (await session.call("next_groups", {"plan_id": plan_id})).value["state"] != "done":
        attempt += 1
        started = await session.call("execute_plan", {"plan_id": plan_id}, call_id=f"execute {plan}, {attempt}")
        await session.result(started.execution_id)


async def count_progress(session: Session) -> int:
    """Count the reports of progress on the board."""
    count, last = 0, session.board.last_seq
    async with aclosing(session.events()) as events:
        async for event in events:
            count += event.kind == "tool_progress"
            if event.seq >= last:
                break
    return count


async def main(store: str, url: str, round_number: int) -> None:
    chain = Chain(CHAIN_ID, (url,), development=True, poll_seconds=0.05)
    toolset = ethereum_toolset([chain], sources=[], etherscan=None, development_key=KEYS[0])
    tools = [toolset, *ethereum_plan_tools(toolset.client, Solc())]
    DevelopmentSigner(KEYS[0])  # imports its library, which takes long
    async with Runtime(tools, store=store) as runtime:
        session = await runtime.open(f"round {round_number}", "ann")
        tell("working")
        await asyncio.gather(*(carry_out(session, round_number, plan) for plan in range(PLANS)))
        progress = await count_progress(session)
    tell(json.dumps({"progress": progress}))


def tell(line: str) -> None:
    """Write a line for the process that started this one."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
