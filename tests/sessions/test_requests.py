"""Requests to people: approvals, answers and wallets, from any process and at any time (M3)."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, Json, SecretStr, computed_field
from pydantic_core import from_json

from callboard import Limits, OpenRequest, RetryPolicy, Runtime, Session, Tool, ToolContext, ToolError, tool
from callboard.sessions.answers import MAX_ANSWER_BYTES, AnswerInvalid, ArgumentsMismatch, arguments_hash
from callboard.sessions.ids import SessionNotFound
from callboard.sessions.requests import RequestClosed
from callboard.sessions.session import live_session
from callboard.storage.change import Change, ExecutionWrite
from callboard.storage.errors import StoreUnavailable
from callboard.storage.rows import RequestRow
from callboard.testing import ManualClock, settle
from callboard.types import RequestPurpose

from .conftest import SOON, Make, board_of, dead, ended, left_behind, rewrite, seen, stored, until

pytestmark = pytest.mark.anyio

runs: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    runs.clear()


@tool(mode="human")
async def pay(to: Annotated[str, "Who"], amount: Annotated[int, Field(description="How much", gt=0)]) -> str:
    """Pay a recipient."""
    runs.append((to, amount))
    return f"{amount} to {to}"


@tool(mode="human", idempotent=True, expires=60.0)
async def send(ctx: ToolContext, text: Annotated[str, "What"]) -> str:
    """Send a message, after an approval within a minute."""
    runs.append((text, ctx.attempt, ctx.idempotency_key == ctx.execution_id))
    return text


class Colour(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Literal["red", "green"] = Field(description="Which")
    shade: int = Field(default=5, ge=0, le=9, description="How dark")


@tool(mode="human", answer=Colour)
async def choose(question: Annotated[str, "What is asked"]) -> Colour:  # pyright: ignore[reportReturnType]
    """Let a person choose a colour."""


class Review(BaseModel):
    approved: bool = Field(description="Whether it is good")
    comment: str = Field(description="Why")


@tool(mode="human", answer=Review, expires=60.0)
async def review(text: Annotated[str, "What is judged"]) -> Review:  # pyright: ignore[reportReturnType]
    """Let a person judge a text."""


class Sent(BaseModel):
    status: Literal["confirmed", "rejected", "failed"] = Field(description="Outcome of the transaction")
    transaction_hash: str | None = Field(default=None, description="Its hash")
    contract_address: str | None = Field(default=None, description="The new contract")
    detail: str | None = Field(default=None, description="More")


@tool(mode="human", asks="wallet_tx_request", answer=Sent)
async def sign(
    to: Annotated[str | None, "Address"],
    value: Annotated[str, "Wei"],
    data: Annotated[str, "Call data"] = "0x",
    gas_limit: Annotated[int | None, "Gas"] = None,
    description: Annotated[str, "What it does"] = "",
) -> Sent:  # pyright: ignore[reportReturnType]
    """Let a wallet sign and send."""


@tool(mode="human", asks="wallet_tx_request")
async def record(to: Annotated[str, "Address"]) -> str:
    """Record a transaction after a wallet has sent it."""
    runs.append(to)
    return "noted"


TOOLS: tuple[Tool, ...] = (pay, send, choose, review, sign, record)
BOB = {"to": "bob", "amount": 5}


async def the_request(session: Session) -> RequestRow:
    (request,) = await live_session(session).requests()
    return request


# Values


async def test_m3_open_request_is_plain_values(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB, call_id="a")
        [request] = await session.requests()
        [row] = await live_session(session).requests()
        assert request == OpenRequest(
            id=row.id,
            execution_id=outcome.execution_id,
            kind="human_request",
            purpose=RequestPurpose.APPROVAL,
            tool="pay",
            payload=BOB,
            answer_schema=from_json(row.schema),
            arguments_hash=arguments_hash(row),
            created_at=datetime.fromtimestamp(row.created_at, UTC),
            expires_at=None,
        )
        assert request.answer_schema["properties"].keys() == {"approved", "arguments", "reason"}
        assert (await session.snapshot()).requests == (request,)
        with pytest.raises(AttributeError):
            request.payload = None  # pyright: ignore[reportAttributeAccessIssue]


# Approval


async def test_m3_approved_call_runs_with_the_displayed_arguments(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB, call_id="c")
        request = await the_request(session)
        assert (outcome.status, outcome.done, outcome.error) == ("waiting", False, None)
        assert outcome.value["status"] == "waiting"
        assert outcome.value["request_id"] == request.id
        assert (request.tool, request.kind, request.execution_id) == ("pay", "human_request", outcome.execution_id)
        asked = await seen(session, "human_request")
        assert asked.data["payload"] == BOB
        assert asked.data["request_id"] == request.id
        assert (asked.data["call_id"], asked.data["tool"], asked.data["expires_at"]) == ("c", "pay", None)
        assert set(asked.data["answer_schema"]["properties"]) == {"approved", "arguments", "reason"}
        assert runs == [], "nothing happens before"
        number = await session.answer(request.id, {"approved": True})
        assert (await ended(session, outcome.execution_id)).value == "5 to bob"
        assert runs == [("bob", 5)]
        events = await board_of(session)
        assert [event.kind for event in events] == [
            "tool_started",
            "tool_validating",
            "human_request",
            "human_answer",
            "tool_executing",
            "tool_result",
        ]
        answered = {"request_id": request.id, "answer": {"approved": True}, "answered_by": "ann"}
        assert events[number - 1].data == {**answered, "purpose": "approval"}
        assert await session.requests() == []
        assert [each.value for each in await session.take_results()] == ["5 to bob"], "it comes late"
        again = await session.call("pay", BOB, call_id="c")
        assert (again.status, again.value, runs) == ("succeeded", "5 to bob", [("bob", 5)])


async def test_m3_refused_call_never_runs(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        said = "A person refused this call; it did not run."
        for reason, message in ((None, said), ("too much", f"{said} The reason: too much")):
            outcome = await session.call("pay", BOB)
            answer = {"approved": False} if reason is None else {"approved": False, "reason": reason}
            request = await the_request(session)
            await session.post({"kind": "human_answer", "request_id": request.id, "answer": answer})
            result = await ended(session, outcome.execution_id)
            assert result.error is not None
            assert (result.status, result.error.category) == ("failed", "permission")
            assert result.error.message == message
            assert result.error.details == {"decision": "rejected"}, "a page can tell it from a failure"
        assert runs == []
        assert "tool_executing" not in [event.kind for event in await board_of(session)]


async def test_m3_answer_for_other_arguments_is_refused(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        first = await session.call("pay", BOB, call_id="a")
        second = await session.call("pay", {"to": "eve", "amount": 900}, call_id="b")
        small, large = await session.requests()
        assert small.arguments_hash != large.arguments_hash
        approvals: list[dict[str, Any]] = [
            {"approved": True},
            {"approved": True, "arguments": BOB},
            {"approved": False},
        ]
        for approval in approvals:
            with pytest.raises(ArgumentsMismatch, match="other arguments"):
                await session.answer(large.id, approval, arguments_hash=small.arguments_hash)
            event = {"kind": "human_answer", "request_id": large.id, "answer": approval, "arguments_hash": "x"}
            with pytest.raises(ArgumentsMismatch):
                await session.post(event)
        assert len(await session.requests()) == 2, "both are open still"
        [shown] = [
            event.data["arguments_hash"]
            for event in await board_of(session)
            if event.kind == "human_request" and event.data["request_id"] == large.id
        ]
        await session.answer(large.id, {"approved": True}, arguments_hash=shown)
        assert (await ended(session, second.execution_id)).value == "900 to eve"
        await session.answer(small.id, {"approved": True, "arguments": {"to": "bob", "amount": 1}})
        assert (await ended(session, first.execution_id)).value == "1 to bob"


async def test_m3_hash_of_the_arguments_does_not_reveal_secrets(make: Make) -> None:
    @tool(mode="human")
    async def unlock(pin: Annotated[SecretStr, "The pin"]) -> str:
        """Open the door."""
        return "open"

    async with make(unlock) as runtime:
        session = await runtime.open("s", "ann")
        await session.call("unlock", {"pin": "1234"}, call_id="a")
        [row] = await live_session(session).requests()
        assert arguments_hash(row) == arguments_hash(replace(row, fingerprint="of another pin"))


async def test_m3_an_answer_may_be_of_a_type_that_writes_another_form_than_it_reads(make: Make) -> None:
    class Size(BaseModel, extra="forbid"):
        width: int = Field(description="Centimetres", serialization_alias="w")
        note: Json[list[int]] = Field(description="Numbers, as JSON", exclude=True)

        @computed_field
        def double(self) -> int:
            return 2 * self.width

    @tool(answer=Size)
    async def measure(what: Annotated[str, "What to measure"]) -> None:
        """Ask for a size."""

    async with make(measure) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("measure", {"what": "door"}, call_id="a")
        with pytest.raises(AnswerInvalid, match="w: "):
            await session.answer((await the_request(session)).id, {"w": 3, "note": "[1]"})
        await session.answer((await the_request(session)).id, {"width": 3, "note": "[1]"})
        assert (await ended(session, outcome.execution_id)).value == {"w": 3, "double": 6}


async def test_m3_edited_arguments_keep_masked_secrets(make: Make) -> None:
    used: list[Any] = []

    class Card(BaseModel):
        number: SecretStr = Field(description="Its number")
        limit: int = Field(description="How much it may pay")

    @tool(mode="human")
    async def charge(pin: Annotated[SecretStr, "The pin"], cards: Annotated[list[Card], "Cards"]) -> str:
        """Charge cards."""
        used.append((pin.get_secret_value(), [(each.number.get_secret_value(), each.limit) for each in cards]))
        return "charged"

    async with make(charge) as runtime:
        session = await runtime.open("s", "ann")
        cards = [{"number": "4111", "limit": 5}, {"number": "4222", "limit": 6}]
        outcome = await session.call("charge", {"pin": "1234", "cards": cards}, call_id="a")
        [request] = await session.requests()
        shown = request.payload
        assert "1234" not in repr(shown)
        shown["cards"][0]["limit"] = 1
        shown["cards"][1]["number"] = "4333"
        await session.answer(request.id, {"approved": True, "arguments": shown}, arguments_hash=request.arguments_hash)
        assert (await ended(session, outcome.execution_id)).value == "charged"
        assert used == [("1234", [("4111", 1), ("4333", 6)])]


async def test_m3_edited_arguments_are_validated_and_used(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB, call_id="c")
        request = await the_request(session)
        for edited in ({"to": "bob"}, {"to": "bob", "amount": -1}, {"to": "bob", "amount": 1, "x": 1}, {}):
            with pytest.raises(AnswerInvalid, match="The arguments of pay are not valid") as refused:
                await session.answer(request.id, {"approved": True, "arguments": edited})
            assert refused.value.problems
        assert runs == []
        await session.answer(request.id, {"approved": True, "arguments": {"to": "eve", "amount": 2}})
        assert (await ended(session, outcome.execution_id)).value == "2 to eve"
        assert runs == [("eve", 2)]
        (shown,) = await session.history()
        assert shown.arguments == {"to": "eve", "amount": 2}
        again = await session.call("pay", BOB, call_id="c")
        assert (again.status, again.value) == ("succeeded", "2 to eve"), "the caller's id stands for what it sent"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        "yes",
        [],
        {},
        {"approved": 1},
        {"approved": "true"},
        {"approved": None},
        {"approved": True, "extra": 1},
        {"approved": True, "arguments": "no"},
        {"approved": True, "arguments": {"to": "x" * (MAX_ANSWER_BYTES + 1), "amount": 1}},
        {"approved": False, "reason": "x" * 10_001},
        {"approved": True, "arguments": {"to": float("nan"), "amount": 1}},
        {"approved": object()},
        {"approved": True, "arguments": {"to": "\ud800", "amount": 1}},
    ],
    ids=lambda answer: repr(answer)[:23],
)
async def test_m3_invalid_answer_leaves_the_request_open(answer: Any) -> None:
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
        request = await the_request(session)
        before = session.board.last_seq
        with pytest.raises(AnswerInvalid) as refused:
            await session.answer(request.id, answer)
        assert refused.value.code == "answer_invalid"
        assert len(str(refused.value)) < 1_000
        assert session.board.last_seq == before
        assert runs == []
        await session.answer(request.id, {"approved": True})
        assert (await ended(session, outcome.execution_id)).value == "5 to bob"


async def test_m3_only_the_first_answer_counts(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
        request = await the_request(session)
        await session.answer(request.id, {"approved": True})
        for second in ({"approved": True}, {"approved": False}):
            with pytest.raises(RequestClosed, match="The request is no longer open"):
                await session.answer(request.id, second)
        await ended(session, outcome.execution_id)
        with pytest.raises(RequestClosed, match="it is used"):
            await session.answer(request.id, {"approved": True})
        assert runs == [("bob", 5)]
        assert [event.kind for event in await board_of(session)].count("human_answer") == 1


async def test_m3_of_concurrent_answers_one_counts(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
        request = await the_request(session)
        answers = [session.answer(request.id, {"approved": True}) for _ in range(5)]
        found = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(each) for each in found if isinstance(each, Exception)] == [RequestClosed] * 4
        await ended(session, outcome.execution_id)
        assert runs == [("bob", 5)]


async def test_m3_answer_counts_if_its_caller_is_cancelled(make: Make) -> None:
    """A browser sends the answer and closes: the answer is stored, so it is used."""
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        for turns in range(8):
            outcome = await session.call("pay", BOB)
            request = await the_request(session)
            answering = asyncio.ensure_future(session.answer(request.id, {"approved": True}))
            for _ in range(turns):
                await asyncio.sleep(0)
            answering.cancel()
            await asyncio.wait([answering])
            await live_session(session).settle()
            if await session.requests():  # it had not even been looked at
                await session.answer(request.id, {"approved": True})
            assert (await ended(session, outcome.execution_id)).value == "5 to bob"
        assert len(runs) == 8


async def test_m3_requests_are_visible_only_in_their_session(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session, other = await runtime.open("s", "ann"), await runtime.open("t", "bob")
        beside = await runtime.open("u", "ann")
        await session.call("pay", BOB)
        request = await the_request(session)
        for stranger in (other, beside):
            assert await stranger.requests() == []
            errors: list[str] = []
            for name in (request.id, "unknown"):
                with pytest.raises(ToolError) as refused:
                    await stranger.answer(name, {"approved": True})
                assert refused.value.category == "not_found"
                errors.append(str(refused.value).replace(name, "?"))
            assert errors[0] == errors[1], "a request of another user does not exist"
        assert runs == []
        assert (await the_request(session)).status == "open"


async def test_m3_unknown_request_ids_are_refused(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        for name in ("", "x" * 100_000, "a\x00b", "\ud800", "'; --"):
            with pytest.raises(ToolError, match="There is no request") as refused:
                await session.answer(name, {"approved": True})
            assert len(str(refused.value)) < 200


# Answers that are results


async def test_m3_answer_is_the_result(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("choose", {"question": "Which?"})
        asked = await seen(session, "human_request")
        assert asked.data["payload"] == {"question": "Which?"}
        assert asked.data["answer_schema"]["properties"]["name"]["enum"] == ["red", "green"]
        request_id = asked.data["request_id"]
        for answer in ({"name": "blue"}, {"name": "red", "shade": 10}, {"name": "red", "more": 1}, {}, None, "red"):
            with pytest.raises(AnswerInvalid, match="The answer does not fit the request") as refused:
                await session.answer(request_id, answer)
            assert refused.value.problems
            first = refused.value.problems[0]
            assert f"\n- {first['path'] or 'answer'}: {first['message']}" in str(refused.value)
        await session.answer(request_id, {"name": "red"})
        assert (await ended(session, outcome.execution_id)).value == {"name": "red", "shade": 5}
        (request,) = await live_session(session).services.store.requests(session_id="s")
        assert request.status == "used"
        assert "tool_executing" not in [event.kind for event in await board_of(session)]


@pytest.mark.parametrize("day", ["20240101", 20240101, 1704067200.0])
async def test_m3_answer_gives_dates_as_texts_like_arguments(make: Make, day: Any) -> None:
    @tool(mode="human", answer=date)
    async def due_day(task: Annotated[str, "What is due"]) -> date:  # pyright: ignore[reportReturnType]
        """Let a person choose a day."""

    async with make(due_day) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("due_day", {"task": "taxes"})
        request = await the_request(session)
        with pytest.raises(AnswerInvalid, match="Input should be a date such as '2026-09-01'"):
            await session.answer(request.id, day)
        await session.answer(request.id, "2024-01-01")
        assert (await ended(session, outcome.execution_id)).value == "2024-01-01"


async def test_m3_answer_that_has_a_field_named_approved_is_an_answer(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("review", {"text": "a poem"})
        await session.answer((await the_request(session)).id, {"approved": False, "comment": "dull"})
        assert (await ended(session, outcome.execution_id)).value == {"approved": False, "comment": "dull"}


# Wallets


async def test_m3_wallet_is_asked_and_answers(make: Make) -> None:
    transaction = {"to": "0xb0b", "value": "10", "data": "0x", "gas_limit": 21_000, "description": "Pay Bob"}
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("sign", transaction, call_id="c")
        assert outcome.status == "waiting"
        asked = await seen(session, "wallet_tx_request")
        assert {name: asked.data[name] for name in transaction} == transaction
        assert (asked.data["call_id"], asked.data["tool"]) == ("c", "sign")
        response = {"kind": "wallet_tx_response", "request_id": asked.data["request_id"]}
        with pytest.raises(AnswerInvalid):
            await session.answer(asked.data["request_id"], {"approved": True})
        with pytest.raises(AnswerInvalid):
            await session.answer(asked.data["request_id"], {"status": "confirmed", "extra": 1})
        number = await session.post({**response, "status": "confirmed", "transaction_hash": "0xabc"})
        result = await ended(session, outcome.execution_id)
        expected = {"transaction_hash": "0xabc", "contract_address": None, "detail": None}
        assert result.value == {"status": "confirmed", **expected}
        answered = (await board_of(session))[number - 1]
        assert answered.kind == "wallet_tx_response"
        assert answered.data["request_id"] == asked.data["request_id"]
        assert (answered.data["status"], answered.data["transaction_hash"]) == ("confirmed", "0xabc")


async def test_b2_wallet_creates_a_contract(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("sign", {"to": None, "value": "0", "data": "0x60ff"})
        asked = await seen(session, "wallet_tx_request")
        assert (asked.data["to"], asked.data["data"]) == (None, "0x60ff")
        response = {"kind": "wallet_tx_response", "request_id": asked.data["request_id"]}
        answer = {"status": "confirmed", "transaction_hash": "0xabc", "contract_address": "0xc0de"}
        number = await session.post({**response, **answer})
        assert (await ended(session, outcome.execution_id)).value == {**answer, "detail": None}
        assert (await board_of(session))[number - 1].data["contract_address"] == "0xc0de"


async def test_m3_handler_runs_only_after_the_wallet_confirmed(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        for status in ("rejected", "failed", "confirmed"):
            outcome = await session.call("record", {"to": status})
            request = await the_request(session)
            response = {"kind": "wallet_tx_response", "request_id": request.id, "status": status, "detail": "so it is"}
            await session.post(response)
            result = await ended(session, outcome.execution_id)
            if status == "confirmed":
                assert (result.value, runs) == ("noted", ["confirmed"])
            else:
                assert result.error is not None
                assert (result.error.category, runs) == ("permission", [])
                assert "so it is" in result.error.message


# Time


async def test_m3_request_expires(make: Make) -> None:
    clock = ManualClock()
    async with make(*TOOLS, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcomes = [await session.call(name, {"text": "a"}) for name in ("send", "review")]
        requests = await session.requests()
        asked = await seen(session, "human_request")
        assert asked.data["expires_at"] == "2027-01-15T08:01:00Z"
        await clock.advance(59.9)
        assert len(await session.requests()) == 2
        await clock.advance(0.1)
        for outcome, request in zip(outcomes, requests, strict=True):
            result = await ended(session, outcome.execution_id)
            assert result.error is not None
            assert (result.status, result.error.category) == ("failed", "timeout")
            assert result.error.message == "There was no answer in time; the call did not run."
            with pytest.raises(RequestClosed, match="expired"):
                await session.answer(request.id, {"approved": True, "comment": "late"})
        assert await session.requests() == []
        assert runs == []
        assert [each.status for each in await session.take_results()] == ["failed", "failed"]


async def test_m3_of_a_concurrent_answer_and_expiry_one_counts(make: Make) -> None:
    clock = ManualClock()
    async with make(*TOOLS, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        for turns in range(6):
            runs.clear()
            outcome = await session.call("send", {"text": "a"})
            request = await the_request(session)
            answering = asyncio.ensure_future(session.answer(request.id, {"approved": True}))
            for _ in range(turns):
                await asyncio.sleep(0)
            await clock.advance(60)
            (found,) = await asyncio.gather(answering, return_exceptions=True)
            result = await ended(session, outcome.execution_id)
            row = await live_session(session).services.store.request(request.id)
            assert row is not None
            if isinstance(found, int):
                assert (result.value, len(runs), row.status) == ("a", 1, "used")
            else:
                assert isinstance(found, RequestClosed)
                assert result.error is not None
                assert (result.error.category, runs, row.status) == ("timeout", [], "expired")


async def test_m3_request_that_expired_without_a_process_cannot_be_answered(shared_url: str) -> None:
    """The request expires while no process runs."""
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("send", {"text": "a"})
        request = await the_request(session)
    clock = ManualClock(clock.time() + 61)
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        assert await session.requests() == []
        with pytest.raises(RequestClosed, match="expired"):
            await session.answer(request.id, {"approved": True})
        result = await ended(session, outcome.execution_id)
        assert result.error is not None
        assert (result.error.category, runs) == ("timeout", [])


async def test_m3_clock_set_back_expires_nothing_early(make: Make) -> None:
    class Wild(ManualClock):
        """A clock whose time of day jumps and whose monotonic time does not."""

        offset = 0.0

        def time(self) -> float:
            return super().time() + self.offset

    clock = Wild()
    async with make(*TOOLS, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("send", {"text": "a"}, call_id="c")
        clock.offset = -86_400.0
        await clock.advance(59)
        await session.answer((await the_request(session)).id, {"approved": True})
        assert (await ended(session, outcome.execution_id)).value == "a"
        late = await session.call("send", {"text": "b"})
        clock.offset = -172_800.0
        await clock.advance(60)
        result = await ended(session, late.execution_id)
        assert result.error is not None
        assert result.error.category == "timeout"
        events = await board_of(session)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert events[0].at > events[-1].at, "the clock was set back, and the order is that of the numbers"
        assert [each.status for each in await session.history()] == ["succeeded", "failed"]


# Other processes, other times


async def test_m3_answer_from_another_process_completes_the_call(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as asking, Runtime(TOOLS, store=shared_url) as answering:
        session = await asking.open("s", "ann")
        outcome = await session.call("pay", BOB)
        other = await answering.open("s", "ann")
        assert (await other.result(outcome.execution_id, timeout=0)).status == "waiting"
        request = await the_request(other)
        await other.answer(request.id, {"approved": True})
        assert (await ended(session, outcome.execution_id)).value == "5 to bob"
        assert (await ended(other, outcome.execution_id)).value == "5 to bob"
        assert runs == [("bob", 5)]
        with pytest.raises(SessionNotFound):
            await answering.open("s", "bob")


OTHER = """
import asyncio, sys
from callboard import Runtime

async def main():
    async with Runtime(store=sys.argv[1], recover=False) as runtime:
        session = await runtime.open("s", "ann")
        [request] = await session.requests()
        print(await session.answer(request.id, {"approved": True}))

asyncio.run(main())
"""


async def test_m3_answer_from_a_separate_process_completes_the_call(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
        other = await asyncio.create_subprocess_exec(
            sys.executable, "-c", OTHER, shared_url, stdout=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(SOON):
            said, _ = await other.communicate()
        assert (other.returncode, said) == (0, b"4\n"), "the number of the answer's event"
        assert (await ended(session, outcome.execution_id)).value == "5 to bob"
        assert runs == [("bob", 5)]


async def test_m3_of_concurrent_answers_in_two_processes_one_counts(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        first, second = await one.open("s", "ann"), await two.open("s", "ann")
        for _ in range(3):
            outcome = await first.call("pay", BOB)
            request = await the_request(first)
            found = await asyncio.gather(
                first.answer(request.id, {"approved": True}),
                second.answer(request.id, {"approved": False}),
                return_exceptions=True,
            )
            assert [type(each) for each in found if isinstance(each, Exception)] == [RequestClosed]
            result = await ended(second, outcome.execution_id)
            assert result.status == ("succeeded" if isinstance(found[0], int) else "failed")
            assert len(runs) == isinstance(found[0], int)
            runs.clear()


async def test_m3_answer_days_after_a_restart_completes_the_call(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        approved = await session.call("pay", BOB, call_id="c")
        refused = await session.call("pay", BOB)
        answered = await session.call("choose", {"question": "Which?"})
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        again = await session.call("pay", BOB, call_id="c")
        assert (again.status, again.execution_id) == ("waiting", approved.execution_id)
        requests = {request.execution_id: request.id for request in await session.requests()}
        await session.answer(requests[approved.execution_id], {"approved": True})
        await session.answer(requests[refused.execution_id], {"approved": False, "reason": "no"})
        await session.answer(requests[answered.execution_id], {"name": "green"})
        assert (await ended(session, approved.execution_id)).value == "5 to bob"
        assert (await ended(session, refused.execution_id)).status == "failed"
        assert (await ended(session, answered.execution_id)).value == {"name": "green", "shade": 5}
        assert runs == [("bob", 5)]
        events = [event for event in await board_of(session) if event.kind == "tool_result"]
        assert len({event.data["execution_id"] for event in events}) == len(events) == 3


async def test_m3_answer_given_while_no_process_ran_is_used_at_the_next_start(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
    async with Runtime(TOOLS, store=shared_url, recover=False) as command_line:
        session = await command_line.open("s", "ann")
        await session.answer((await the_request(session)).id, {"approved": True})
        assert (await session.result(outcome.execution_id, timeout=0)).status == "started"
    assert runs == []
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert (await ended(session, outcome.execution_id)).value == "5 to bob"
    async with Runtime(TOOLS, store=shared_url) as runtime:
        await ended(await runtime.open("s", "ann"), outcome.execution_id)
    assert runs == [("bob", 5)], "and once"


async def test_m3_approved_call_that_waits_for_a_slot_runs_after_a_restart(shared_url: str) -> None:
    begun: list[str] = []
    blocked = True

    @tool(mode="human", idempotent=True)
    async def seek(what: Annotated[str, "What"]) -> str:
        """Seek something, after an approval."""
        begun.append(what)
        if blocked:
            await asyncio.Event().wait()
        return what

    async with Runtime([seek], store=shared_url, limits=Limits(total=1)) as runtime:
        session = await runtime.open("s", "ann")
        ids = [(await session.call("seek", {"what": each})).execution_id for each in ("a", "b")]
        for request in await session.requests():
            await session.answer(request.id, {"approved": True})
        await until(lambda: runtime.manager.queued == 1)
    blocked = False
    async with Runtime([seek], store=shared_url, limits=Limits(total=1)) as runtime:
        session = await runtime.open("s", "ann")
        assert [(await ended(session, each)).value for each in ids] == ["a", "b"]
    assert sorted(begun) == ["a", "a", "b"]


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
async def test_m3_edited_call_that_waits_for_a_slot_runs_after_a_restart(shared_url: str, killed: bool) -> None:
    used: list[Any] = []

    @tool(mode="human")
    async def charge(pin: Annotated[SecretStr, "The pin"], amount: Annotated[int, "How much"]) -> str:
        """Charge a card, after an approval."""
        used.append((pin.get_secret_value(), amount))
        return "charged"

    @tool(mode="background", idempotent=True)
    async def occupy() -> None:
        """Hold the only slot."""
        await asyncio.Event().wait()

    async with Runtime([charge, occupy], store=shared_url, limits=Limits(total=1)) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("charge", {"pin": "1234", "amount": 5}, call_id="c")
        occupied = (await session.call("occupy")).execution_id
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True, "arguments": {**request.payload, "amount": 7}})
        await until(lambda: runtime.manager.queued == 1)
    if killed:
        await left_behind(shared_url, outcome.execution_id, "s", lambda row: row)
    async with Runtime([charge, occupy], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert (await ended(session, outcome.execution_id)).value == "charged"
        assert used == [("1234", 7)]
        again = await session.call("charge", {"pin": "1234", "amount": 5}, call_id="c")
        assert again.value == "charged", "the caller's id stands for what it sent"
        await session.cancel(occupied)


async def test_m3_answer_is_used_although_the_store_is_away_when_the_call_is_recovered(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
    async with Runtime(TOOLS, store=shared_url, recover=False) as command_line:
        session = await command_line.open("s", "ann")
        await session.answer((await the_request(session)).id, {"approved": True})
    runtime = Runtime(TOOLS, store=shared_url)
    answering, refused = runtime.store.closed_requests, 0

    async def closed_requests(request_ids: Sequence[str]) -> list[RequestRow]:
        nonlocal refused
        if request_ids and refused < 2:
            refused += 1
            raise StoreUnavailable("The store is away.")
        return await answering(request_ids)

    monkeypatch.setattr(runtime.store, "closed_requests", closed_requests)
    async with runtime:
        session = await runtime.open("s", "ann")
        assert (await ended(session, outcome.execution_id)).value == "5 to bob"
    assert (runs, refused) == ([("bob", 5)], 2)


async def test_m3_process_without_the_tool_can_answer_and_an_invalid_answer_is_refused_later(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime, Runtime(store=shared_url, recover=False) as gateway:
        session, door = await runtime.open("s", "ann"), await gateway.open("s", "ann")

        async def answered(name: str, arguments: Any, answer: Any) -> Any:
            outcome = await session.call(name, arguments)
            await door.answer((await the_request(door)).id, answer)
            return await ended(session, outcome.execution_id)

        assert (await answered("pay", BOB, {"approved": True})).value == "5 to bob"
        assert (await answered("pay", BOB, {"approved": False})).status == "failed"
        assert (await answered("choose", {"question": "?"}, {"name": "red"})).value == {"name": "red", "shade": 5}
        wrong = [
            await answered("pay", BOB, {"approved": True, "arguments": {"amount": "many"}}),
            await answered("choose", {"question": "?"}, {"name": "blue"}),
        ]
        assert [outcome.error and outcome.error.category for outcome in wrong] == ["validation", "validation"]
        with pytest.raises(AnswerInvalid):
            await answered("pay", BOB, {"approved": "perhaps"})
        assert runs == [("bob", 5)]


async def test_m3_request_of_a_closed_session_can_be_answered(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
        await session.close()
        await session.answer((await the_request(session)).id, {"approved": True})
        session = await runtime.open("s", "ann")
        assert (await ended(session, outcome.execution_id)).value == "5 to bob"
        assert [each.value for each in await session.take_results()] == ["5 to bob"]


# Cancellation


async def test_m3_open_request_needs_no_task(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        await session.call("pay", BOB, call_id="first")
        await settle()
        before = asyncio.all_tasks()
        outcomes = [await session.call("pay", BOB) for _ in range(10)]
        await settle()
        assert not asyncio.all_tasks() - before
        for outcome, request in zip(outcomes, (await session.requests())[1:], strict=True):
            await session.answer(request.id, {"approved": True})
            assert (await ended(session, outcome.execution_id)).value == "5 to bob"
        assert len(runs) == 10


async def test_m3_cancelled_call_withdraws_its_request(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
        request = await the_request(session)
        assert await session.cancel(outcome.execution_id) is True
        assert (await ended(session, outcome.execution_id)).status == "cancelled"
        with pytest.raises(RequestClosed):
            await session.answer(request.id, {"approved": True})
        assert await session.requests() == []
        row = await live_session(session).services.store.request(request.id)
        assert row is not None
        assert row.status == "withdrawn"
        assert runs == []


@pytest.mark.parametrize("held", [True, False])
async def test_m3_cancel_from_another_process_withdraws_too(shared_url: str, held: bool) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
        request = await the_request(session)
        if held:
            async with Runtime(TOOLS, store=shared_url, recover=False) as other:
                stranger = await other.open("s", "ann")
                assert await stranger.cancel(outcome.execution_id) is True
                assert (await ended(stranger, outcome.execution_id)).status == "cancelled"
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert await session.cancel(outcome.execution_id) is not held
        assert (await ended(session, outcome.execution_id)).status == "cancelled"
        assert live_session(session).index.finished == len(live_session(session).index.entries) == 0, (
            "it was never entered here"
        )
        with pytest.raises(RequestClosed):
            await session.answer(request.id, {"approved": True})
        assert await session.requests() == []
        assert runs == []


async def test_m3_total_timeout_of_a_call_ends_the_request(make: Make) -> None:
    @tool(mode="human", total_timeout=30.0)
    async def hurry() -> int:
        """Be quick."""
        return 1

    clock = ManualClock()
    async with make(hurry, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("hurry")
        request = await the_request(session)
        await clock.advance(30)
        result = await ended(session, outcome.execution_id)
        assert result.error is not None
        assert result.error.category == "timeout"
        with pytest.raises(RequestClosed):
            await session.answer(request.id, {"approved": True})


# Only the approved call runs


async def test_m3_arguments_changed_in_the_store_do_not_run(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("pay", BOB)
    async with stored(shared_url) as store:
        row = await store.execution("s", outcome.execution_id)
        assert row is not None
        changed = replace(row, document=b'{"to":"eve","amount":5000}')
        assert await store.commit([Change("s", executions=[ExecutionWrite(changed)])]) == [3]
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        await session.answer((await the_request(session)).id, {"approved": True})
        result = await ended(session, outcome.execution_id)
        assert result.error is not None
        assert result.error.category == "permission"
        assert result.error.message == "The request does not match the call; nothing was done."
        assert runs == []


CHANGED: list[dict[str, Any]] = [
    {"payload": b'{"to":"bob","amount":1}'},  # the displayed arguments
    {"fingerprint": "0" * 64},
    {"payload": b'{"question":"?"}', "tool": "choose"},
]
NO: list[bytes] = [b'{"approved":false}', b"{}", b"null", b'"yes"', b'{"approved":1}']


async def test_m3_request_changed_in_the_store_approves_nothing(shared_url: str) -> None:
    """Whatever the store contains, a call runs only after an approval of exactly that call."""
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        outcomes = [await session.call("pay", BOB) for _ in range(len(CHANGED) + len(NO))]
        requests = await live_session(session).requests()
    changes = [{"answer": b'{"approved":true}', **change} for change in CHANGED] + [{"answer": no} for no in NO]
    for request, change in zip(requests, changes, strict=True):
        await rewrite(shared_url, replace(request, status="answered", **change), "open")
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        results = [await ended(session, outcome.execution_id) for outcome in outcomes]
        assert [result.error and result.error.category for result in results] == ["permission"] * len(changes)
        assert runs == []


# Crashes


async def left(url: str, name: str, arguments: Any, **state: Any) -> str:
    """Leave an approved call behind, as a process that died. Returns the id of its execution."""
    async with Runtime(TOOLS, store=url) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call(name, arguments)
        request = await the_request(session)
    used = "used" if state.get("status") == "executing" else "answered"
    await rewrite(url, replace(request, status=used, answer=b'{"approved":true}'), "open")
    async with stored(url) as store:
        row = await store.execution("s", outcome.execution_id)
        assert row is not None
        await store.join(dead())
        await store.commit([Change("s", executions=[ExecutionWrite(replace(row, owner="dead", **state))])])
    return outcome.execution_id


async def test_m3_crash_between_approval_and_run_neither_loses_nor_repeats_the_call(shared_url: str) -> None:
    execution_id = await left(shared_url, "pay", BOB)
    for _ in range(2):
        async with Runtime(TOOLS, store=shared_url) as runtime:
            session = await runtime.open("s", "ann")
            assert (await ended(session, execution_id)).value == "5 to bob"
            (request,) = await runtime.store.requests(session_id="s")
            assert request.status == "used"
    assert runs == [("bob", 5)]


async def test_m3_call_is_not_repeated_after_a_crash_during_its_run(shared_url: str) -> None:
    execution_id = await left(shared_url, "pay", BOB, status="executing", attempt=1)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        result = await ended(session, execution_id)
        assert result.error is not None
        assert (result.error.category, runs) == ("interrupted", [])
        assert await session.requests() == []


async def test_m3_idempotent_call_does_not_ask_again_after_a_crash_during_its_run(shared_url: str) -> None:
    execution_id = await left(shared_url, "send", {"text": "a"}, status="executing", attempt=1)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert (await ended(session, execution_id)).value == "a"
        assert runs == [("a", 2, True)]
        assert await session.requests() == []
        kinds = [event.kind for event in await board_of(session)]
        assert kinds.count("human_request") == 1


async def test_m3_retry_of_an_approved_call_does_not_ask_again(make: Make) -> None:
    @tool(mode="human", retry=RetryPolicy(max_attempts=3, base_delay=1.0))
    async def flaky(ctx: ToolContext) -> int:
        """Fail twice without an effect."""
        if ctx.attempt < 3:
            raise ToolError("not yet", category="transient", retryable=True)
        return ctx.attempt

    clock = ManualClock()
    async with make(flaky, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("flaky")
        await session.answer((await the_request(session)).id, {"approved": True})
        for attempt in (1, 2):
            await seen(session, "tool_retrying", attempt=attempt)
            await settle()
            await clock.advance(30)
        assert (await ended(session, outcome.execution_id)).value == 3
        assert [event.kind for event in await board_of(session)].count("human_request") == 1


# Secrets


async def test_m3_secrets_are_neither_shown_in_the_request_nor_in_the_answer(make: Make) -> None:
    @tool(mode="human")
    async def unlock(user: Annotated[str, "Who"], password: Annotated[SecretStr, "The password"]) -> str:
        """Unlock."""
        runs.append(password.get_secret_value())
        return user

    async with make(unlock) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("unlock", {"user": "bob", "password": "hunter2"})
        request = await the_request(session)
        edited = {"user": "eve", "password": "swordfish"}
        await session.answer(request.id, {"approved": True, "arguments": edited})
        assert (await ended(session, outcome.execution_id)).value == "eve"
        assert runs == ["swordfish"]
        used = await runtime.store.request(request.id)
        assert used is not None
        assert used.answer is not None
        everything = b"".join(event.encoded for event in await board_of(session)) + used.payload + used.answer
        assert b"hunter2" not in everything
        assert b"swordfish" not in everything, "the secret is no longer needed"
        assert b'"eve"' in everything


@tool(mode="human")
async def knock() -> str:
    """Knock."""
    return "come in"


async def test_m3_answer_in_a_process_without_the_tool_waits_for_a_process_that_has_it(
    shared_url: str,
) -> None:
    async with Runtime([knock], store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        asked = await session.call("knock")
    async with Runtime([], store=shared_url) as stranger:
        session = await stranger.open("s", "u")
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        async with asyncio.timeout(90):
            while True:  # it is looked at and left again, as often as the stranger looks around
                await stranger.sessions._heartbeat.poll()
                await live_session(session).settle()
                row = await stranger.store.execution("s", asked.execution_id)
                assert row is not None
                assert (row.status, row.completed_at) == ("waiting", None)
                if row.owner is None:
                    break
        assert live_session(session).index.finished == len(live_session(session).index.entries) == 0, (
            "what was never entered is not counted"
        )
    async with Runtime([knock], store=shared_url) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.result(asked.execution_id, timeout=90)).value == "come in"
