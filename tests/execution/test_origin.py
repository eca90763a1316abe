"""The origin of an exception, as operators read it: a line of the user's code, without folders (X2)."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from callboard import ToolContext, tool
from callboard.demo.tools import tools as demo_tools
from callboard.execution.origin import line_in_user_code, origin_of
from callboard.testing import Harness

pytestmark = pytest.mark.anyio

HERE = Path(__file__).name


def line_of(text: str) -> int:
    """Return the first line of this file that contains a text."""
    return next(number for number, line in enumerate(Path(__file__).read_text().splitlines(), 1) if text in line)


@tool
async def parse() -> int:
    """Fail in the standard library."""
    return json.loads("{")  # fails below


@tool
async def report(ctx: ToolContext) -> None:
    """Fail in Callboard."""
    await ctx.partial(object())  # refused


@tool
async def lie() -> int:  # a wrong type
    """Return a wrong type."""
    answer: Any = "x"
    return answer


@pytest.mark.parametrize(
    ("failing", "origin"),
    [
        (parse, f"{HERE}, line {line_of('# fails below')}"),
        (report, f"{HERE}, line {line_of('# refused')}"),
        (lie, f"lie in {HERE}, line {line_of('# a wrong type') - 1}"),
    ],
)
async def test_x2_the_origin_is_in_the_users_code(failing: Any, origin: str) -> None:
    async with Harness(failing) as harness:
        error = (await harness.session.call(failing.name)).error
    assert error is not None
    assert error.origin == origin


def test_x2_without_a_line_of_the_user_it_is_the_innermost() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("{")
    trace = caught.tb.tb_next
    assert trace is not None
    assert line_in_user_code(trace) is None
    for function in (None, json.loads, demo_tools[0].handler.function if demo_tools[0].handler else None):
        assert origin_of([trace], function).startswith("decoder.py, line ")


async def test_x2_the_log_counts_attempts(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "callboard.execution"):
        async with Harness(parse) as harness:
            await harness.session.call("parse")
    assert "after 1 attempt: " in caplog.text
