"""A plain loop with the Anthropic SDK, without an agent framework.

Set ANTHROPIC_API_KEY, and run `python anthropic_loop.py`.
"""

import asyncio
import json
import os
from typing import Annotated, Any

from anthropic import AsyncAnthropic

from callboard import Outcome, Runtime, Session, tool

MODEL = os.environ.get("MODEL", "claude-sonnet-5-5")


@tool(mode="background", idempotent=True)
async def build_report(quarter: Annotated[str, "Which quarter, such as 2026-Q3"]) -> str:
    """Build the financial report of a quarter."""
    await asyncio.sleep(0.2)
    return f"The report of {quarter} has 42 pages."


async def respond(client: AsyncAnthropic, session: Session, messages: list[Any]) -> None:
    """Let the model respond, and carry out its calls, until it makes no more."""
    tools: Any = session.tools().schemas("claude")
    while True:
        reply = await client.messages.create(model=MODEL, max_tokens=2000, messages=messages, tools=tools)
        messages.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]}
        )
        results: list[Any] = []
        for block in reply.content:
            if block.type == "text":
                print("model:", block.text)
            elif block.type == "tool_use":
                outcome = await session.call(block.name, block.input)  # servers repeat `block.id`
                results.append(answer(session, outcome, block.id))
        if not results:
            return
        messages.append({"role": "user", "content": results})


def answer(session: Session, outcome: Outcome, call_id: str) -> dict[str, Any]:
    """Return what the model reads: the error, the result, or "it is running"."""
    result = {"type": "tool_result", "tool_use_id": call_id}
    if outcome.error is not None:
        return {**result, "content": json.dumps(outcome.error.to_model(), default=str), "is_error": True}
    return {**result, "content": session.result_text(outcome.execution_id), "is_error": False}


def late(session: Session, outcome: Outcome) -> list[Any]:
    """Give a late result to the model as a call of `task_result` with its answer, which every provider accepts."""
    call_id, arguments = f"late_{outcome.execution_id}", {"execution_id": outcome.execution_id}
    call = {"type": "tool_use", "id": call_id, "name": "task_result", "input": arguments}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer(session, outcome, call_id)]},
    ]


async def main() -> None:
    async with AsyncAnthropic() as client, Runtime([build_report]) as runtime:
        session = await runtime.open("alice_1", user_id="alice")
        messages: list[Any] = [{"role": "user", "content": "Build the report of 2026-Q3."}]
        await respond(client, session, messages)
        while session.has_pending_work:  # work that continues after the model's answer
            seen = session.board.last_seq
            for outcome in await session.take_results():
                messages += late(session, outcome)
                await respond(client, session, messages)
            if session.has_pending_work:
                await anext(session.events(after=seen))  # wait until something happens


if __name__ == "__main__":
    asyncio.run(main())
