"""A late result: background work that ends after the turn wakes the conversation, and the model tells the user.

It uses the offline model, which calls a tool by its name. Run `python late_result.py`, or with a real model:
`python late_result.py anthropic:claude-sonnet-5-5`.
"""

import asyncio
import sys
from typing import Annotated

from callboard import Runtime, ToolContext, tool


@tool(mode="background", idempotent=True, wake="wake")
async def build_report(ctx: ToolContext, quarter: Annotated[str, "Which quarter, such as 2026-Q3"]) -> str:
    """Build the financial report of a quarter."""
    await ctx.progress("collecting", 0.5)
    await asyncio.sleep(0.2)  # the real work: minutes or hours
    return f"The report of {quarter} has 42 pages."


async def main(model: str) -> None:
    question = "Build the report of 2026-Q3." if model != "offline" else 'build_report {"quarter": "2026-Q3"}'
    async with Runtime([build_report], model=model) as runtime:
        session = await runtime.open("alice_1", user_id="alice")

        turn = await session.say(question)
        print("turn 1:", turn.text)  # the work continues; the user can write meanwhile

        finished = 0
        async for event in session.events(family="chat"):
            if event.kind == "text" and finished == 1:
                print("turn 2:", event.data["text"])  # no message of the user started this turn
            if event.kind == "turn_finished":
                finished += 1
            if finished == 2:
                break


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "offline"))
