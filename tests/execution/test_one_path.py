"""There is one path for every call: the plain call of the benchmark has all features of any other call."""

import ast
import asyncio
import inspect
from pathlib import Path
from typing import Annotated

import pytest

import callboard.execution
from callboard import BreakerPolicy, Limits, Outcome, RetryPolicy, Tool, ToolError, tool
from callboard.execution.breaker import BreakerOpen
from callboard.execution.execution import Execution
from callboard.execution.extras import OptionalState
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio

FIXED = RetryPolicy(max_attempts=2, base_delay=1.0, strategy="fixed")  # pyright: ignore[reportArgumentType]


class Plain:
    """The tool of the benchmark: async, without a context, two numbers. The test decides its behaviour."""

    def __init__(self) -> None:
        self.waits: asyncio.Event | None = None
        self.error: Exception | None = None

        async def add(a: Annotated[int, "First"], b: Annotated[int, "Second"]) -> int:
            """Add two numbers."""
            if self.waits is not None:
                await self.waits.wait()
            if self.error is not None:
                raise self.error
            return a + b

        self.tool: Tool = tool(add)


def calls_of(tree: ast.AST, *names: str) -> list[tuple[str, str]]:
    """List the functions that use one of these attributes, each with the attribute."""
    found: list[tuple[str, str]] = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            found += [
                (function.name, ast.unparse(node))
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute) and node.attr in names
            ]
    return found


def test_x1_one_place_enters_handlers() -> None:
    root = Path(inspect.getfile(callboard.execution)).parent.parent
    entering: dict[str, list[tuple[str, str]]] = {}
    for folder in ("execution", "sessions", "events"):
        for path in (root / folder).glob("*.py"):
            tree = ast.parse(path.read_text())
            if found := [call for call in calls_of(tree, "enter", "run") if call[1].startswith("handler.")]:
                entering[path.name] = found
    assert set(entering) == {"runner.py"}
    assert {name for name, _ in entering["runner.py"]} == {"_run"}
    attempts = ast.parse((root / "execution" / "runner.py").read_text())
    assert calls_of(attempts, "_run") == [("carry_out", "self._run")]
    assert {name for name, _ in calls_of(attempts, "direct")} == {"carry_out"}
    beginning: dict[str, list[tuple[str, str]]] = {}
    for path in (root / "execution").glob("*.py"):
        found = calls_of(ast.parse(path.read_text()), "carry_out")
        if begins := [call for call in found if call[1] != "Runner.carry_out"]:  # the function, of which nothing runs
            beginning[path.name] = sorted(begins)
    begun = [(name, "self._runner.carry_out") for name in ("answered", "begin", "resume")]
    assert beginning == {"admission.py": begun}


def test_x1_only_an_execution_writes_its_state() -> None:
    root = Path(inspect.getfile(callboard.execution)).parent.parent
    fields = {slot for base in Execution.__mro__ for slot in getattr(base, "__slots__", ())}
    fields |= {name for name in dir(OptionalState) if isinstance(getattr(OptionalState, name), property)}
    written: list[str] = []
    for folder in ("execution", "sessions", "chat", "telemetry"):
        for path in sorted((root / folder).glob("*.py")):
            targets = [
                node
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in fields
            ]
            written += [f"{path.name}: {ast.unparse(each)}" for each in targets if names_an_execution(each.value)]
    assert {each.partition(":")[0] for each in written} == {"execution.py"}, "`adopt` writes to its child"


def names_an_execution(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.lstrip("_") in ("execution", "parent", "child", "known", "each", "queued")


async def test_x1_plain_call_is_recorded_counted_and_on_the_board() -> None:
    plain = Plain()
    assert plain.tool.handler is not None
    assert plain.tool.handler.plain
    async with Harness(plain.tool) as harness:
        outcome = await harness.session.call("add", b'{"a":1,"b":2}')
        assert outcome.value == 3
        assert harness.kinds() == ["tool_started", "tool_validating", "tool_executing", "tool_result"]
        assert harness.runtime.registry.stats("add").successes == 1
        record = harness.session.execution(outcome.execution_id)
        assert (record.arguments, record.value, record.attempt) == ({"a": 1, "b": 2}, 3, 1)


async def test_x1_the_same_call_of_the_same_tool_can_be_promoted_cancelled_retried_broken_and_queued() -> None:
    plain = Plain()
    options = {"retry": FIXED, "breaker": BreakerPolicy(failure_threshold=2), "limits": Limits(total=1)}
    async with Harness(plain.tool, **options) as harness:

        async def start() -> asyncio.Task[Outcome]:
            return await harness.start("add", b'{"a":1,"b":2}')

        plain.waits = asyncio.Event()
        call = await start()
        await harness.advance(10)
        outcome = call.result()
        assert outcome.status == "started"
        queued = await start()
        assert harness.runtime.manager.queued == 1
        first, second = (record.id for record in harness.session.executions())
        assert await harness.session.cancel(first)
        await settle()
        assert harness.session.execution(first).status == "cancelled"
        plain.waits.set()
        assert (await queued).value == 3
        assert harness.session.execution(second).queued_for == 0.0

        plain.waits, plain.error = None, ToolError("Later.", category="transient", retryable=True)
        call = await start()
        await harness.advance(1)
        assert harness.session.execution(call.result().execution_id).attempt == 2
        broken = await harness.session.call("add", b'{"a":1,"b":2}')
        assert isinstance(broken.error, BreakerOpen)
        stats = harness.runtime.registry.stats("add")
        assert (stats.calls, stats.successes, stats.cancellations, stats.retries) == (4, 1, 1, 1)
        assert stats.failures == {"transient": 2}
