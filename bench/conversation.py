"""Cost of a turn compared with Pydantic AI's own agent, and the delay until a late result starts a turn.

Both use the same scripted model and the same tool: one request, one call, one more request. The agent runs without
streaming; Callboard streams, stores its transcript, and posts everything to the board. The second figure is the time
from the end of a background execution to the first request of the turn that it starts. It includes the window in which
several results become one turn; a commit of the same store is measured beside it. As a script, this is the worker.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, nullcontext
from functools import partial
from statistics import median
from typing import Any

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, quartiles
from bench.databases import POSTGRESQL, SQLITE, databases
from bench.harness import Batches
from bench.workloads import add

TITLE = "Cost of a turn, and delay of a late result"
MEMORY = "memory"
WAKES = 100
"""Number of late results, measured one after the other."""


def measure(options: Options) -> dict[str, Any]:
    """Measure the turn in memory, and the delay of late results with every store."""
    if options.python is not None:
        print("conversations are measured only with the Python that has their libraries", file=sys.stderr)
        return {}
    data: dict[str, Any] = {"turn": [], "streamed": [], "wake": {}, "commit": {}}
    with ExitStack() as stack:
        stores = stack.enter_context(databases())
        for turn in range(options.rounds):
            print(f"round {turn + 1} of {options.rounds}", file=sys.stderr)
            found = _worker("turns", str(options.samples), str(options.seconds))
            data["turn"] += found["turn"]
            data["streamed"] += found["streamed"]
            for store, database in {MEMORY: lambda: nullcontext("memory://"), **stores}.items():
                with database() as url:
                    found = _worker("wakes", url, "10" if options.quick else str(WAKES))
                data["wake"].setdefault(store, []).extend(found["wake"])
                data["commit"].setdefault(store, []).extend(found["commit"])
    return data


def report(data: Data) -> Table:
    """Make one row per figure."""
    rows = [
        ["a turn with one call ÷ `Agent.run` with the same model", quartiles(data["turn"])],
        ["the same ÷ `Agent.run_stream_events`", quartiles(data["streamed"])],
    ]
    for store in data["wake"]:
        rows += [
            [f"{store}: end of a background execution to the next request, ms", _milliseconds(data["wake"][store])],
            [f"{store}: a commit, ms", _milliseconds(data["commit"][store])],
        ]
    return Table(["figure", "median (quartiles)"], rows)


def _milliseconds(values: list[float]) -> str:
    return quartiles([value * 1e3 for value in values])


def _ratio(data: Data) -> float | None:
    return median(data["turn"]) if data else None


def _beyond_commit(store: str, data: Data) -> float | None:
    if not data or store not in data["wake"]:
        return None
    return median(data["wake"][store]) - median(data["commit"][store])


BOUNDS = [
    Bound("a turn with one call ÷ `Agent.run`, in memory", 1.25, "x", _ratio),
    *(
        Bound(
            f"{store}: end of an execution to the request, minus a commit", 0.010, "s", partial(_beyond_commit, store)
        )
        for store in (MEMORY, SQLITE, POSTGRESQL)
    ),
]


def _worker(*arguments: str) -> dict[str, Any]:
    return environments.worker(sys.executable, "bench.conversation", *arguments)


# Worker


def _is_answered(messages: Any) -> bool:
    return any(part.part_kind == "tool-return" for part in messages[-1].parts)


def _model() -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    def whole(messages: Any, info: Any) -> ModelResponse:
        if _is_answered(messages):
            return ModelResponse(parts=[TextPart("It is 3.")])
        return ModelResponse(parts=[ToolCallPart("add", '{"a":1,"b":2}', "c1")])

    async def stream(messages: Any, info: Any) -> AsyncIterator[Any]:
        if _is_answered(messages):
            yield "It is 3."
        else:
            yield {0: DeltaToolCall("add", '{"a":1,"b":2}', tool_call_id="c1")}

    return FunctionModel(whole, stream_function=stream)


async def _turns(samples: int, seconds: float) -> dict[str, list[float]]:
    from pydantic_ai import Agent

    from callboard import Runtime, tool

    model = _model()
    agent = Agent(model, tools=[add])
    opened = 0
    async with Runtime([tool(add)], model=model) as runtime:

        async def ours() -> str:
            nonlocal opened
            opened += 1
            session = await runtime.open(f"s{opened}", "bench")
            turn = await session.say("What is 1 + 2?")
            return turn.text

        async def theirs() -> str:
            return (await agent.run("What is 1 + 2?")).output

        async def theirs_streamed() -> str:
            async with agent.run_stream_events("What is 1 + 2?") as events:
                async for _ in events:
                    pass
            return ""

        if await ours() != await theirs():
            raise ValueError("the two answers differ")
        found: dict[str, list[float]] = {}
        for name, floor in (("turn", theirs), ("streamed", theirs_streamed)):
            batches = await Batches.calibrated(ours, floor, seconds * 4)
            found[name] = [(await batches.bracket()).ratio for _ in range(samples)]
        return found


async def _wakes(url: str, count: int) -> dict[str, list[float]]:
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    from callboard import Runtime, ToolContext, tool

    ended: list[float] = []
    asked: list[float] = []
    started = asyncio.Event()
    gate = asyncio.Event()

    @tool(mode="background", idempotent=True)
    async def work(ctx: ToolContext) -> str:
        """Work until released."""
        await gate.wait()
        ended.append(time.perf_counter())
        return "done"

    async def stream(messages: Any, info: Any) -> AsyncIterator[Any]:
        last = messages[-1].parts
        if any(part.part_kind == "user-prompt" for part in last):
            yield {0: DeltaToolCall("work", "{}", tool_call_id=f"c{len(messages)}")}
        elif any(getattr(part, "tool_name", "") == "task_result" for part in last):
            asked.append(time.perf_counter())
            started.set()
            yield "Done."
        else:
            yield "It runs."

    found: dict[str, list[float]] = {"wake": [], "commit": []}
    async with Runtime([work], model=FunctionModel(stream_function=stream), store=url) as runtime:
        for number in range(count):
            session = await runtime.open(f"s{number}", "bench")
            gate.clear()
            started.clear()
            await session.say("Go.")
            began = time.perf_counter()
            await session.notice("A commit.")
            found["commit"].append(time.perf_counter() - began)
            gate.set()
            await started.wait()
            found["wake"].append(asked[-1] - ended[-1])
    return found


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    if kind == "turns":
        print(json.dumps(asyncio.run(_turns(int(rest[0]), float(rest[1])))))
    else:
        print(json.dumps(asyncio.run(_wakes(rest[0], int(rest[1])))))
