"""Calls that run in other processes: a gateway, and workers that you start and stop as you like.

You need PostgreSQL and NATS with JetStream. Start a worker in one terminal, or several, and the gateway in another:

    export CALLBOARD_STORE=postgresql://localhost/callboard CALLBOARD_ENGINE=nats://localhost:4222
    callboard migrate
    callboard worker --tools workers:registry
    python workers.py

Kill a worker while it counts: another one starts the call again, since the tool is idempotent.
"""

import asyncio
import os
from typing import Annotated

from callboard import Registry, Runtime, ToolContext, tool


@tool(mode="background", idempotent=True)
async def count_words(ctx: ToolContext, pages: Annotated[int, "The number of pages to read"]) -> str:
    """Count the words of a book, page by page."""
    for page in range(1, pages + 1):
        await asyncio.sleep(0.1)
        await ctx.progress("counting", page / pages, f"page {page} of {pages}")
    return f"{pages * 300:,} words, counted by process {os.getpid()}"


registry = Registry([count_words])


async def main() -> None:
    store, engine = os.environ["CALLBOARD_STORE"], os.environ["CALLBOARD_ENGINE"]
    async with Runtime(registry, store=store, engine=engine) as runtime:
        session = await runtime.open("book", user_id="ann")
        outcome = await session.call("count_words", {"pages": 10})
        print(f"{outcome.status} in process {os.getpid()}")
        async for event in session.events():
            if event.data.get("execution_id") != outcome.execution_id:
                continue
            if event.kind == "tool_progress":
                print(f"{event.data['fraction']:4.0%} {event.data['message']}")
            elif event.kind == "tool_result":
                print(event.data["status"], event.data.get("value") or event.data.get("error"))
                break


if __name__ == "__main__":
    asyncio.run(main())
