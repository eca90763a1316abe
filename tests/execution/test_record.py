"""The record of an execution at each of its stages, without its secrets (X2)."""

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, Json, Secret, SecretStr

from callboard import Limits, RetryPolicy, ToolContext, ToolError, dynamic_tool, tool
from callboard.execution.lifecycle import Status
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio

START = datetime.fromtimestamp(1_800_000_000, UTC)
FIXED = RetryPolicy(max_attempts=3, base_delay=2.0, strategy="fixed")  # pyright: ignore[reportArgumentType]


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


async def test_x2_record_at_every_stage() -> None:
    go = asyncio.Event()

    @tool(concurrency=1, idempotent=True, retry=FIXED, mode="background")
    async def work(ctx: ToolContext, city: Annotated[str, "Where"]) -> str:
        """Work."""
        await go.wait()
        if ctx.attempt < 3:
            raise ToolError(f"Try {ctx.attempt}.", category="transient", report="for operators")
        return city.upper()

    async with Harness(work) as harness:
        await harness.session.call("work", {"city": "a"}, call_id="first")
        await harness.advance(1)
        outcome = await harness.session.call("work", {"city": "Basel"}, call_id="c2")

        queued = harness.session.execution(outcome.execution_id)
        assert (queued.id, queued.call_id, queued.tool) == (outcome.execution_id, "c2", "work")
        assert (queued.session_id, queued.user_id) == ("test", "tester")
        assert queued.arguments == {"city": "Basel"}
        assert queued.status is Status.PENDING
        assert (queued.queued_at, queued.started_at, queued.completed_at) == (after(1), None, None)
        assert (queued.queued_for, queued.ran_for) == (None, None)
        assert (queued.attempt, queued.max_attempts, queued.previous_errors) == (0, 3, ())
        assert (queued.value, queued.error, queued.promoted, queued.parent_id) == (None, None, False, None)

        await harness.advance(4)  # at 5
        assert await harness.session.cancel_call("first")
        await settle()
        await harness.advance(1)  # at 6
        running = harness.session.execution(outcome.execution_id)
        assert running.status is Status.EXECUTING
        assert (running.started_at, running.completed_at) == (after(5), None)
        assert (running.queued_for, running.ran_for, running.attempt) == (4.0, 1.0, 1)

        go.set()
        await settle()
        waiting = harness.session.execution(outcome.execution_id)
        first, second = ({"category": "transient", "message": f"Try {number}."} for number in (1, 2))
        assert (waiting.status, waiting.attempt, waiting.previous_errors) == (Status.WAITING, 1, (first,))

        await harness.advance(2)
        await harness.advance(2)  # at 10
        await harness.advance(90)
        done = harness.session.execution(outcome.execution_id)
        assert (done.status, done.value, done.error) == (Status.SUCCEEDED, "BASEL", None)
        assert (done.queued_at, done.started_at, done.completed_at) == (after(1), after(5), after(10))
        assert (done.queued_for, done.ran_for) == (4.0, 5.0)
        assert (done.attempt, done.previous_errors) == (3, (first, second))
        assert [record.call_id for record in harness.session.executions()] == ["first", "c2"]


async def test_x2_record_of_a_failure_and_of_an_instant_success() -> None:
    @tool
    async def fail() -> int:
        """Fail."""
        raise ToolError("No.", category="permanent", details=[1], retry_after=5, report="secret of the host")

    @tool
    async def instant() -> int:
        """Succeed at once."""
        return 1

    async with Harness(fail, instant) as harness:
        failed = await harness.session.call("fail")
        quick = await harness.session.call("instant")
        await harness.advance(50)
        record = harness.session.execution(failed.execution_id)
        assert record.status is Status.FAILED
        assert record.error == {"category": "permanent", "message": "No.", "details": [1], "retry_after": 5}
        assert (record.ran_for, record.completed_at, record.value) == (0.0, START, None)
        assert harness.session.execution(quick.execution_id).ran_for == 0.0


async def test_x2_statistics_have_the_time_that_a_call_took_also_of_the_first() -> None:
    @tool
    async def work() -> int:
        """Take four seconds."""
        await harness.clock.sleep(4)
        return 1

    async with Harness(work) as harness:
        assert harness.clock.monotonic() == 0.0
        for calls in (1, 2):
            call = await harness.start("work")
            await harness.advance(4)
            assert harness.session.execution((await call).execution_id).ran_for == 4.0
            stats = harness.runtime.registry.stats("work")
            assert (stats.calls, stats.total_time, stats.average_time) == (calls, 4.0 * calls, 4.0)


async def test_x2_records_of_living_executions_are_always_kept_and_some_of_the_finished() -> None:
    @tool
    async def instant() -> int:
        """Succeed at once."""
        return 1

    @tool(mode="background")
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    async with Harness(instant, hang, keep_executions=5, limits=Limits(per_session=100)) as harness:
        hanging = [(await harness.session.call("hang")).execution_id for _ in range(30)]
        ids = [(await harness.session.call("instant")).execution_id for _ in range(100)]
        kept = {record.id for record in harness.session.executions()}
        assert kept >= {*hanging, *ids[-5:]}
        assert len(kept) < 30 + 2 * 5 + 30
        with pytest.raises(ToolError, match="There is no execution") as caught:
            harness.session.execution(ids[0])
        assert caught.value.category == "not_found"


# Secrets

SECRET = "hunter2-very-secret"


class Login(BaseModel):
    name: str = Field(description="Who")
    password: SecretStr = Field(description="The password")


class Account(BaseModel):
    logins: list[Login] = Field(description="All logins")
    by_name: dict[str, SecretStr] = Field(default_factory=dict, description="More passwords")
    maybe: Login | None = Field(default=None, description="One more")


@tool(idempotent=True, retry=FIXED, concurrency=1)
async def connect(ctx: ToolContext, account: Annotated[Account, "What to connect to"]) -> str:
    """Connect."""
    if ctx.attempt == 1:
        raise ConnectionError("no route")
    return f"{len(account.logins)} {account.logins[0].password.get_secret_value() == SECRET}"


def everything(harness: Harness, logs: list[str]) -> str:
    board = b"".join(event.encoded for event in harness.events()).decode()
    records = repr(harness.session.executions())
    texts = "".join(harness.session.result_text(record.id) for record in harness.session.executions())
    return board + records + texts + "".join(logs)


def good() -> dict[str, Any]:
    login = {"name": "ann", "password": SECRET}
    return {"logins": [login, login], "by_name": {"x": SECRET}, "maybe": login}


BROKEN = [
    {**good(), "maybe": {"name": 1, "password": SECRET}},
    {**good(), "logins": [{"password": SECRET}]},
    {**good(), "logins": [{"name": "a", "password": [SECRET]}]},
    {**good(), "maybe": {"name": "a", "password": SECRET, "extra": 1}, "unknown": 2},
    f'{{"logins": [{{"name": "a", "password": "{SECRET}"',
    f'{{"logins": [], "by_name": {{"x": "{SECRET}", "x": "{SECRET}"}}}}',
    f'["{SECRET}"]',
]


async def test_x2_secrets_are_masked_wherever_they_could_be_seen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "callboard")
    async with Harness(connect) as harness:
        call = await harness.start("connect", good())
        queued = await harness.start("connect", good())
        await harness.advance(5)
        assert (await call).value == (await queued).value == "2 True"
        seen = everything(harness, caplog.messages)
        assert SECRET not in seen
        masked = {"name": "ann", "password": "********"}
        expected = {"logins": [masked, masked], "by_name": {"x": "********"}, "maybe": masked}
        assert [record.arguments for record in harness.session.executions()] == [expected, expected]
        assert harness.events()[0].data["arguments"] == expected


@pytest.mark.parametrize("arguments", BROKEN, ids=range(len(BROKEN)))
async def test_x2_secrets_are_masked_in_validation_errors(arguments: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "callboard")
    async with Harness(connect) as harness:
        outcome = await harness.session.call("connect", arguments)
        assert outcome.error is not None
        assert outcome.error.category == "validation"
        assert SECRET not in everything(harness, caplog.messages) + repr(outcome) + str(outcome.error.to_model())


async def test_x2_secrets_inside_a_json_text_are_masked_too(caplog: pytest.LogCaptureFixture) -> None:
    """A model that sends an object as a JSON text is understood, and its secrets are still secret."""
    caplog.set_level(logging.DEBUG, "callboard")
    async with Harness(connect) as harness:
        text = f'{{"name": "ann", "password": "{SECRET}"}}'
        call = await harness.start("connect", {"logins": [text]})
        await harness.advance(5)
        assert (await call).value == "1 True"
        assert SECRET not in everything(harness, caplog.messages)


class Pin(Secret[int]):
    def _display(self) -> str:
        return "#"


class Node(BaseModel):
    password: Secret[str] = Field(description="The password")
    below: "Secret[Node] | None" = Field(default=None, description="More")


TEXT = json.dumps({"name": "ann", "password": SECRET})


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (Secret[str], SECRET, "********"),
        (Secret[int] | None, 987654321, "********"),
        (Pin, 987654321, "********"),
        (Annotated[Secret[str], Field(min_length=5)], SECRET, "********"),
        (Annotated[Secret[str], Field(min_length=50)], SECRET, "********"),
        (Secret[Login], {"name": "ann", "password": SECRET}, "********"),
        (list[Secret[int]], [987654321], ["********"]),
        (Node, {"password": SECRET, "below": {"password": SECRET}}, {"password": "********", "below": "********"}),
        (Json[SecretStr], json.dumps(SECRET), "********"),
        (Json[Login], TEXT, "********"),
        (list[Json[Login] | None], [TEXT, None], ["********", None]),
        (Json[Login], "{" + SECRET, "********"),
        (Json[list[dict[str, Login]]], json.dumps([{"x": {"name": 1, "password": SECRET}}]), "********"),
        (dict[SecretStr, int], {SECRET: 1}, "********"),
        (dict[SecretStr, int], {SECRET: "x"}, "********"),
        (dict[Secret[int], Login], {"987654321": {"name": 1, "password": SECRET}}, "********"),
        (dict[Annotated[SecretStr, Field(max_length=3)], int], {SECRET: 1}, "********"),
    ],
    ids=str,
)
async def test_x2_secrets_of_every_kind_are_masked(
    kind: Any, value: Any, shown: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def take(given: Any) -> str:
        """Take it."""
        return "taken"

    take.__annotations__["given"] = Annotated[kind, "What is given"]
    caplog.set_level(logging.DEBUG, "callboard")
    async with Harness(tool(flatten=False)(take)) as harness:
        outcome = await harness.session.call("take", {"given": value})
        assert harness.session.executions()[0].arguments == {"given": shown}
        seen = everything(harness, caplog.messages) + repr(outcome) + str(outcome.error and outcome.error.to_model())
        assert SECRET not in seen
        assert "987654321" not in seen


async def test_x2_keys_that_a_schema_calls_secret_are_masked(caplog: pytest.LogCaptureFixture) -> None:
    async def take(arguments: dict[str, Any]) -> str:
        return "taken"

    keys = {"type": "object", "propertyNames": {"writeOnly": True}, "additionalProperties": {"type": "integer"}}
    schema = {"type": "object", "properties": {"by_key": {**keys, "description": "Numbers"}}}
    async with Harness(dynamic_tool("take", schema, take, description="Take.")) as harness:
        for arguments in ({"by_key": {SECRET: 1}}, {"by_key": {SECRET: "x"}}):
            outcome = await harness.session.call("take", arguments)
            assert SECRET not in everything(harness, caplog.messages) + repr(outcome)
        assert harness.session.executions()[0].arguments == {"by_key": "********"}
        assert "by_key.********" in str(harness.session.executions()[1].error)


async def test_x2_arguments_over_the_limit_are_refused_and_not_shown() -> None:
    async with Harness(connect) as harness:
        huge = b'{"logins": [], "x": "' + b"y" * 5_000_000 + b'"}'
        outcome = await harness.session.call("connect", huge)
        assert outcome.error is not None
        assert outcome.error.category == "validation"
        assert "5,000,0" in outcome.error.message
        assert sum(len(event.encoded) for event in harness.events()) < 3_000
