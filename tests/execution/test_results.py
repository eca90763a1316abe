"""Results are bounded for the model, and kept whole (X12)."""

import asyncio
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import Registry, Runtime, Settings, ToolContext, ToolError, tool
from callboard.sessions.model_view import excerpt
from callboard.testing import Harness

pytestmark = pytest.mark.anyio

TEXT = "".join(f"{number:06}" for number in range(5_000))


@tool(result_limit=300)
async def much() -> str:
    """Return much."""
    return TEXT


@tool
async def little() -> dict[str, int]:
    """Return little."""
    return {"a": 1}


@tool(renderers={"voice": lambda value: f"It is {value['a']}."})
async def spoken() -> dict[str, int]:
    """Return something to be said."""
    return {"a": 1}


async def test_x12_long_result_is_stored_whole_and_shown_cut() -> None:
    async with Harness(much) as harness:
        outcome = await harness.session.call("much")
        assert outcome.value == TEXT
        assert harness.session.execution(outcome.execution_id).value == TEXT
        whole = TEXT
        shown = harness.session.result_text(outcome.execution_id)
        assert shown.startswith(whole[:200] + "\n[… ")
        assert shown.endswith(" …]\n" + whole[-100:])
        assert "29,700 of 30,000 characters left out here" in shown
        assert f'Read on with task_result: execution_id "{outcome.execution_id}", offset 200' in shown


async def test_x12_the_rest_can_be_read() -> None:
    async with Harness(much) as harness:
        execution_id = (await harness.session.call("much")).execution_id
        read = harness.session.result_text(execution_id, 0, 300)
        while part := harness.session.result_text(execution_id, len(read)):
            assert len(part) <= 300
            read += part
        assert read == TEXT
        assert harness.session.result_text(execution_id, 10, 5) == read[10:15]
        assert harness.session.result_text(execution_id, 10, 0) == ""
        assert harness.session.result_text(execution_id, -5, 3) == read[:3]
        assert harness.session.result_text(execution_id, 10**9) == ""


async def test_x12_short_results_errors_and_acknowledgements_as_they_are() -> None:
    @tool(mode="background", renderers={"voice": lambda value: value["missing"]})
    async def hang() -> dict[str, int]:
        """Hang."""
        await asyncio.Event().wait()
        return {}

    @tool
    async def fail() -> None:
        """Fail."""
        raise ToolError("No.", category="permanent")

    async with Harness(little, spoken, hang, fail) as harness:
        call, text = harness.session.call, harness.session.result_text
        assert text((await call("little")).execution_id) == '{"a":1}'
        assert text((await call("fail")).execution_id) == '{"category":"permanent","message":"No."}'
        speaking = await harness.runtime.open("spoken", "tester", channel="voice")
        assert speaking.result_text((await speaking.call("spoken")).execution_id) == "It is 1."
        going = await speaking.call("hang")
        assert '"status":"started"' in speaking.result_text(going.execution_id)
        with pytest.raises(ToolError, match="There is no execution"):
            speaking.result_text((await call("little")).execution_id)


@given(st.text(), st.integers(1, 50))
def test_x12_excerpt_keeps_head_and_tail(text: str, limit: int) -> None:
    shown = excerpt(text, limit, "x1")
    if len(text) <= limit:
        assert shown == text
    else:
        head = limit * 2 // 3
        assert shown.startswith(text[:head] + "\n[…")
        assert shown.endswith("…]\n" + text[len(text) - (limit - head) :])
        assert f"offset {head}" in shown
        assert f"{len(text) - limit:,} of {len(text):,}" in shown


async def test_x12_a_result_of_the_wrong_type_is_a_failure() -> None:
    @tool
    async def wrong(what: Annotated[str, "What"]) -> int:
        """Return something else."""
        return what  # pyright: ignore[reportReturnType]

    async with Harness(wrong) as harness:
        outcome = await harness.session.call("wrong", {"what": "text"})
        assert outcome.error is not None
        assert outcome.error.category == "execution"
        assert "text" not in outcome.error.message


async def test_x12_result_over_the_limit_of_the_runtime_is_a_failure_that_names_both_sizes() -> None:
    tries: list[str] = []

    @tool(idempotent=True)
    async def report(ctx: ToolContext, what: Annotated[str, "What to make too large"]) -> str:
        """Report three times, of which one report is too large."""
        tries.append(what)
        await ctx.progress("a stage", None, "p" * (2_000 if what == "A report of progress" else 500))
        await ctx.partial("p" * (999 if what == "A partial result" else 998))
        return "r" * (999 if what == "The result" else 998)

    registry = Registry([report], settings=Settings(max_result_bytes=1_000))
    async with Runtime(tools=registry) as runtime:
        session = await runtime.open("s", "ann")
        assert (await session.call("report", {"what": "nothing"})).status == "succeeded"
        for what in ("A report of progress", "A partial result", "The result"):
            error = (await session.call("report", {"what": what})).error
            assert error is not None
            assert error.category == "resource"
            assert error.message.startswith(f"{what} of report is too large: ")
            assert "the limit is 1,000. What the tool did until then stands." in error.message
        assert len(tries) == 4, "another attempt would not help"
