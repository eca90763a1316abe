"""The demo's tools: their modes, and their validation."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import Registry, Runtime, ToolError
from callboard.demo.tools import demo_tools, evaluate

tools = demo_tools(0.0)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("12 * (3 + 4)", "84"),
        ("0.1 + 0.2", "0.3"),
        ("7 / 2", "3.5"),
        ("-5", "-5"),
        ("100 * 10", "1000"),
        ("1.50 * 2", "3"),
        (" 1 ", "1"),
    ],
)
def test_arithmetic_is_exact(expression: str, value: str) -> None:
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1/0",
        "0/0",
        "9**9**9",
        "__import__('os')",
        "1 if 1 else 2",
        "True",
        "'a' * 9",
        "(" * 99,
        "1e9999",
        "x",
        "1;2",
    ],
)
def test_other_expressions_are_refused(expression: str) -> None:
    with pytest.raises(ToolError) as refused:
        evaluate(expression)
    assert refused.value.category == "validation"


@given(st.text(alphabet="0123456789+-*/(). e_xj'", max_size=300))
def test_any_expression_gives_a_value_or_is_refused(expression: str) -> None:
    with contextlib.suppress(ToolError):
        assert len(evaluate(expression)) < 200


@pytest.mark.anyio
async def test_m2_a_report_shows_its_progress_and_comes_late() -> None:
    delays: list[float] = []

    async def sleep(seconds: float) -> None:
        delays.append(seconds)

    async with Runtime(demo_tools(9.0, sleep)) as runtime:
        session = await runtime.open("s", user_id="u")
        outcome = await session.call("build_report", {"subject": "tea", "chapters": 2})
        assert outcome.status == "started"
        final = await session.result(outcome.execution_id, timeout=90)
        assert final.value["title"] == "All about tea"
        assert len(final.value["chapters"]) == 2
        events: list[Any] = [event.data for event in session.board.read(0)]
    assert [data["fraction"] for data in events if "fraction" in data] == [0.0, 0.25, 0.5, 0.75]
    assert len([data for data in events if "stage" not in data and "value" in data]) == 3  # two partial, one final
    assert delays == [9.0] * 4


@pytest.mark.anyio
@pytest.mark.parametrize("ending", ["cancelled", "restarted"])
async def test_e5_a_long_job_continues_where_it_was_stopped(ending: str, tmp_path: Path) -> None:
    reached, steps = asyncio.Event(), list[float]()

    async def sleep(seconds: float) -> None:
        steps.append(seconds)
        if len(steps) == 25:
            reached.set()
            await asyncio.Event().wait()

    store, arguments = f"sqlite:///{tmp_path / 'demo.db'}", {"archive": "letters", "pages": 40}
    async with Runtime(demo_tools(1.0, sleep), store=store) as runtime:
        session = await runtime.open("s", user_id="u")
        started = await session.call("index_archive", arguments)
        await asyncio.wait_for(reached.wait(), 20)
        if ending == "cancelled":
            assert await session.cancel(started.execution_id)
            started = await session.call("index_archive", arguments)
            final = await session.result(started.execution_id, timeout=90)
            assert final.value == {"archive": "letters", "pages": 40, "first_page": 21}
    if ending == "restarted":
        async with Runtime(demo_tools(1.0, sleep), store=store) as runtime:
            session = await runtime.open("s", user_id="u")
            final = await session.result(started.execution_id, timeout=90)
            assert final.value == {"archive": "letters", "pages": 40, "first_page": 21}
    assert len(steps) == 25 + 20, "the pages before the last saved one are not indexed again"


def test_the_long_job_is_long_enough_to_be_stopped() -> None:
    [job] = [each for each in demo_tools() if each.name == "index_archive"]
    assert job.estimated_duration == 120.0


@pytest.mark.anyio
async def test_x5_the_stock_is_found_at_the_second_attempt() -> None:
    async with Runtime(tools) as runtime:
        session = await runtime.open("s", user_id="u")
        outcome = await session.call("check_stock", {"item": "lamp"})
        assert outcome.value == {"item": "lamp", "pieces": 28}
        assert session.execution(outcome.execution_id).attempt == 2


@pytest.mark.anyio
async def test_m3_a_payment_waits_for_approval_and_a_delivery_is_answered() -> None:
    async with Runtime(tools) as runtime:
        session = await runtime.open("s", user_id="u")
        paying = asyncio.ensure_future(session.call("send_payment", {"to": "Ada", "amount": 12.5}))
        asking = asyncio.ensure_future(session.call("ask_delivery", {"parcel": "lamp"}))
        waiting = [await paying, await asking]
        assert [each.status for each in waiting] == ["waiting", "waiting"]
        payment, delivery = await session.requests()
        await session.answer(payment.id, {"approved": True})
        await session.answer(delivery.id, {"how": "to a neighbour"})
        paid, delivered = [await session.result(each.execution_id, timeout=90) for each in waiting]
        assert paid.value["amount"] == "12.50"
        assert delivered.value == {"how": "to a neighbour", "ring": True, "note": ""}


@pytest.mark.anyio
@pytest.mark.parametrize("amount", [0, -1, "1e30", "NaN", 0.001, "x"])
async def test_an_invalid_amount_is_refused(amount: Any) -> None:
    async with Runtime(tools) as runtime:
        session = await runtime.open("s", user_id="u")
        outcome = await session.call("send_payment", {"to": "Ada", "amount": amount})
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert outcome.error.category == "validation"


@pytest.mark.parametrize("dialect", ["claude", "openai", "openai-responses", "openai-strict", "gemini", "mcp", "ag-ui"])
def test_s1_every_dialect_has_their_schemas(dialect: str) -> None:
    registry = Registry(tools)
    assert len([tool.schema(dialect) for tool in registry]) == len(tools)
