"""A background tool: the call returns at once, progress is streamed, and the result comes later.

Run `python background_progress.py`.
"""

import asyncio
from typing import Annotated, Any

from callboard import Runtime, ToolContext, tool


@tool(mode="background", idempotent=True, timeout=600)
async def build_report(ctx: ToolContext, quarter: Annotated[str, "Which quarter, such as 2026-Q3"]) -> dict[str, Any]:
    """Build the financial report of a quarter."""
    ledgers = ["sales", "wages", "rent", "travel"]
    for number, ledger in enumerate(ledgers, start=1):
        await asyncio.sleep(0.05)  # the real work
        await ctx.progress("reading ledgers", number / len(ledgers), ledger)
        await ctx.partial({"ledger": ledger})
    return {"quarter": quarter, "pages": 42}


async def main() -> None:
    async with Runtime([build_report]) as runtime:
        session = await runtime.open("alice_1", user_id="alice")

        started = await session.call("build_report", {"quarter": "2026-Q3"})
        print(started.status, "->", started.value["message"])

        async for event in session.events():
            match event.kind:
                case "tool_progress":
                    print(f"{event.data['fraction']:4.0%} {event.data['stage']}: {event.data['message']}")
                case "tool_result":
                    print(event.data["status"], event.data["value"])
                    break
                case _:
                    pass

        # A second call, cancelled while it runs.
        second = await session.call("build_report", {"quarter": "2026-Q4"})
        await session.cancel(second.execution_id)
        print((await session.result(second.execution_id)).status)


if __name__ == "__main__":
    asyncio.run(main())
