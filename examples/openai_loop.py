"""A plain loop with the OpenAI SDK, without an agent framework.

Set OPENAI_API_KEY (and OPENAI_BASE_URL for Ollama or any compatible server), and run `python openai_loop.py`.
"""

import asyncio
import json
import os
from typing import Annotated, Any, cast

from openai import AsyncOpenAI

from callboard import Outcome, Runtime, Session, tool

MODEL = os.environ.get("MODEL", "gpt-4.1")


@tool(mode="background", idempotent=True)
async def build_report(quarter: Annotated[str, "Which quarter, such as 2026-Q3"]) -> str:
    """Build the financial report of a quarter."""
    await asyncio.sleep(0.2)
    return f"The report of {quarter} has 42 pages."


async def respond(client: AsyncOpenAI, session: Session, messages: list[Any]) -> None:
    """Let the model respond, and carry out its calls, until it makes no more."""
    tools: Any = session.tools().schemas("openai")
    while True:
        completion = await client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        message = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            print("model:", message.content)
            return
        for call in cast("list[Any]", message.tool_calls):
            outcome = await session.call(call.function.name, call.function.arguments)  # servers repeat `call.id`
            messages.append({"role": "tool", "tool_call_id": call.id, "content": answer(session, outcome)})


def answer(session: Session, outcome: Outcome) -> str:
    """Return what the model reads: the error, the result, or "it is running"."""
    if outcome.error is not None:
        return json.dumps(outcome.error.to_model(), default=str)
    return session.result_text(outcome.execution_id)


def late(session: Session, outcome: Outcome) -> list[Any]:
    """Give a late result to the model as a call of `task_result` with its answer, which every provider accepts."""
    call_id, arguments = f"late_{outcome.execution_id}", json.dumps({"execution_id": outcome.execution_id})
    call = {"id": call_id, "type": "function", "function": {"name": "task_result", "arguments": arguments}}
    return [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": answer(session, outcome)},
    ]


async def main() -> None:
    async with AsyncOpenAI() as client, Runtime([build_report]) as runtime:
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
