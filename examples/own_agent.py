"""A chat with your own Pydantic AI agent: reports are built in the background, and you approve payments.

    python examples/own_agent.py                                     # without a language model
    MODEL=anthropic:claude-sonnet-4-5 python examples/own_agent.py

Results arrive while you type. The messages are in `own_agent.json` and the session in `own_agent.db`: end the program
with Ctrl-D while a report is built, start it again, and the report is finished.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import callboard
from callboard import Runtime, ToolContext, tool

SECONDS = float(os.environ.get("REPORT_SECONDS", "20"))
HISTORY = Path("own_agent.json")


@tool(mode="background", idempotent=True)
async def build_report(ctx: ToolContext, subject: Annotated[str, "What it is about"]) -> str:
    """Build a report, which takes a while."""
    for step in range(10):
        await ctx.progress("writing", step / 10)
        await asyncio.sleep(SECONDS / 10)
    return f"42 pages about {subject}"


@tool(mode="human")
async def pay(amount: Annotated[int, "How many euros"]) -> str:
    """Pay an amount, after a person has approved it. No money moves."""
    return f"paid {amount} EUR"


def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stand in for a language model: `report SUBJECT`, `pay AMOUNT`; repeat everything else."""
    last: Any = messages[-1].parts[-1]
    words = str(last.content).split(maxsplit=1)
    if last.part_kind == "user-prompt" and len(words) == 2 and words[0] == "report":
        return ModelResponse(parts=[ToolCallPart("build_report", {"subject": words[1]})])
    if last.part_kind == "user-prompt" and len(words) == 2 and words[0] == "pay":
        return ModelResponse(parts=[ToolCallPart("pay", {"amount": words[1]})])
    parts: list[Any] = [part for part in messages[-1].parts if part.part_kind == "tool-return"] or [last]
    texts = [part.content if isinstance(part.content, str) else part.content["message"] for part in parts]
    return ModelResponse(parts=[TextPart("; ".join(texts))])


async def ask(requests: DeferredToolRequests) -> DeferredToolResults:
    """Ask the user of the terminal about each deferred call."""
    results = DeferredToolResults()
    for call in requests.approvals:
        print(f"May I {call.tool_name} {call.args_as_dict()}? [y/n] ", end="", flush=True)
        line = await asyncio.to_thread(sys.stdin.readline)
        results.approvals[call.tool_call_id] = line.strip().lower() == "y"
    return results


def load() -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(HISTORY.read_bytes()) if HISTORY.exists() else []


def save(history: list[ModelMessage]) -> None:
    HISTORY.write_bytes(ModelMessagesTypeAdapter.dump_json(history))


async def main() -> None:
    async with Runtime([build_report, pay], store="sqlite:///own_agent.db") as runtime:
        session = await runtime.open("ada_1", user_id="ada")
        tools = callboard.toolset(session, defer=True)
        model = os.environ.get("MODEL") or FunctionModel(respond)
        agent = Agent(model, toolsets=[tools], output_type=[str, DeferredToolRequests])
        history = load()
        line = asyncio.ensure_future(asyncio.to_thread(sys.stdin.readline))
        while True:
            results = asyncio.ensure_future(tools.until_results())
            await asyncio.wait([line, results], return_when=asyncio.FIRST_COMPLETED)
            if not line.done() and not await results:  # nothing runs: only the user can continue
                await line
            results.cancel()
            if line.done() and not line.result():  # the end of the input
                return
            prompt = line.result().strip() if line.done() else None
            async with tools.late_results(history) as messages:
                result = await agent.run(prompt, message_history=messages)
                while isinstance(result.output, DeferredToolRequests):
                    decided = await ask(result.output)
                    result = await agent.run(message_history=result.all_messages(), deferred_tool_results=decided)
                history = result.all_messages()
                save(history)
            print(result.output, flush=True)
            if prompt is not None:
                line = asyncio.ensure_future(asyncio.to_thread(sys.stdin.readline))


if __name__ == "__main__":
    asyncio.run(main())
