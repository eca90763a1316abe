"""Sessions: their owners, the tools that they see, and their records (E1, E2, G6)."""

import asyncio
from typing import Annotated, Any

import pytest

from callboard import Limits, Registry, Runtime, Settings, ToolContext, ToolError, tool
from callboard.sessions.ids import CallIdInvalid, SessionIdInvalid, SessionNotFound
from callboard.sessions.session import live_session
from callboard.testing import Harness, ManualClock, settle

pytestmark = pytest.mark.anyio


@tool(namespace="time")
async def now(ctx: ToolContext) -> list[str | None]:
    """Return the user id of the caller."""
    return [ctx.session_id, ctx.user_id]


@tool(namespace="files", channels=["text"])
async def read() -> str:
    """Read."""
    return "text"


@tool(namespace="files", gate="beta")
async def write() -> str:
    """Write."""
    return "written"


TOOLS = (now, read, write)


# Heartbeat


async def test_e2_open_creates_or_returns_the_session() -> None:
    async with Harness(*TOOLS) as harness:
        first = await harness.runtime.open("s1", "ann", namespaces=["time"], channel="voice")
        assert await harness.runtime.open("s1", "ann") is first
        assert (first.id, first.user_id) == ("s1", "ann")
        assert (await first.call("now")).value == ["s1", "ann"]
        assert len(harness.runtime.sessions) == 2


async def test_e2_session_of_another_user_is_not_found() -> None:
    async with Harness(*TOOLS) as harness:
        await harness.runtime.open("s1", "ann")
        with pytest.raises(SessionNotFound) as others:
            await harness.runtime.open("s1", "bob")
        with pytest.raises(SessionNotFound) as got:
            harness.runtime.sessions.get("s1", "bob")
        with pytest.raises(SessionNotFound) as unknown:
            harness.runtime.sessions.get("s2", "bob")
        assert str(others.value) == str(got.value) == str(unknown.value).replace("s2", "s1")
        assert others.value.code == unknown.value.code == "session_not_found"
        assert "ann" not in str(others.value)
        assert harness.runtime.sessions.get("s1", "ann").user_id == "ann"


async def test_e2_sessions_are_isolated() -> None:
    @tool(mode="background")
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    async with Harness(hang) as harness:
        one, two = await harness.runtime.open("one", "ann"), await harness.runtime.open("two", "ann")
        first = await one.call("hang", call_id="c")
        second = await two.call("hang", call_id="c")
        await settle()
        assert first.execution_id != second.execution_id
        assert [event.seq for event in one.board.read(0)] == [1, 2, 3], "each board counts from 1"
        for ask in (two.execution, two.result_text):
            with pytest.raises(ToolError, match="There is no execution"):
                ask(first.execution_id)
        with pytest.raises(ToolError):
            await two.cancel(first.execution_id)
        with pytest.raises(ToolError):
            await two.result(first.execution_id)
        harness.runtime.sessions.delete(live_session(two))
        await settle()
        assert one.execution(first.execution_id).status == "executing"
        assert two.execution(second.execution_id).status == "cancelled"
        with pytest.raises(SessionNotFound):
            harness.runtime.sessions.get("two", "ann")


@pytest.mark.parametrize("bad", ["", "a" * 201, "a\x00b", "a\nb", "\ud800", "a\u2028"], ids=repr)
async def test_e2_ids_that_cannot_be_used_are_refused(bad: str) -> None:
    async with Harness(*TOOLS) as harness:
        for arguments in [(bad, "ann"), ("s1", bad)]:
            with pytest.raises(SessionIdInvalid, match="must have 1 to 200 printable characters"):
                await harness.runtime.open(*arguments)
        with pytest.raises(CallIdInvalid, match="A call id has 1 to 200 printable characters"):
            await harness.session.call("now", call_id=bad)
        assert harness.events() == []
        assert (await harness.session.call("now", call_id="a" * 200)).status == "succeeded"
        assert (await harness.runtime.open("ü" * 200, "名前 with spaces")).id == "ü" * 200


# Visible tools


async def test_g6_namespaces_channel_allow_list_and_gates() -> None:
    async with Harness(*TOOLS) as harness:

        async def names(**options: Any) -> list[str]:
            session = await harness.runtime.open(f"s{len(harness.runtime.sessions)}", "ann", **options)
            seen = [each.name for each in session.tools()]
            for each in TOOLS:  # a hidden tool cannot be called
                outcome = await session.call(each.name)
                assert (outcome.status == "succeeded") is (each.name in seen)
                assert outcome.error is None or outcome.error.category == "not_found"
            return seen

        assert await names() == ["now", "read"]
        assert await names(namespaces=["time"]) == ["now"]
        assert await names(namespaces=[]) == []
        assert await names(namespaces=["files", "time"], channel="voice") == ["now"]
        assert await names(allow=["read", "unknown"]) == ["read"]


async def test_g6_gate_that_opens_and_closes_is_seen_at_once() -> None:
    state = {"open": False}

    @tool(gate=lambda: state["open"])
    async def gated() -> int:
        """Be gated."""
        return 1

    async with Harness(gated) as harness:
        for is_open in (False, True, False):
            state["open"] = is_open
            assert ("gated" in harness.session.tools()) is is_open
            assert ((await harness.session.call("gated")).status == "succeeded") is is_open


async def test_g6_flag_of_the_settings_opens_a_gate() -> None:
    registry = Registry(TOOLS, settings=Settings(gates={"beta": True}))
    async with Runtime(registry, clock=ManualClock()) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.call("write")).value == "written"


async def test_g6_changes_of_the_registry_are_seen_by_sessions_that_called_before() -> None:
    async with Harness(now) as harness:
        assert (await harness.session.call("now")).status == "succeeded"
        harness.runtime.registry.unregister("now")
        assert (await harness.session.call("now")).status == "failed"
        harness.runtime.registry.register(read)
        assert (await harness.session.call("read")).value == "text"


async def test_g6_tool_removed_while_it_runs_finishes() -> None:
    go = asyncio.Event()

    @tool(mode="background")
    async def slow() -> int:
        """Wait."""
        await go.wait()
        return 1

    async with Harness(slow) as harness:
        outcome = await harness.session.call("slow")
        await settle()
        harness.runtime.registry.unregister("slow")
        go.set()
        assert (await harness.session.result(outcome.execution_id)).value == 1


@pytest.mark.parametrize("name", ["nothing", "", "a" * 100_000, "a\x00b", "\ud800", "write"])
async def test_g6_call_of_an_unknown_tool_fails_and_is_recorded(name: str) -> None:
    async with Harness(*TOOLS) as harness:
        outcome = await harness.session.call(name, {"any": 1}, call_id="c")
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert outcome.error.category == "not_found"
        assert outcome.error.message.startswith("There is no tool '")
        assert len(outcome.error.message) < 200
        started, ended = harness.events()
        assert (started.kind, ended.kind) == ("tool_started", "tool_result")
        assert started.data["call_id"] == ended.data["call_id"] == "c"
        assert (ended.data["status"], ended.data["error"]["category"]) == ("failed", "not_found")
        assert len(ended.encoded) < 1_000
        (record,) = harness.session.executions()
        assert (record.status, record.arguments) == ("failed", None)
        assert started.data["tool"] == record.tool == outcome.tool


@pytest.mark.parametrize(
    "arguments",
    [object(), {"a": {1, object()}}, "\ud800", float("nan"), b"\xff"],
    ids=["object", "set", "surrogate", "nan", "bytes"],
)
async def test_t5_arguments_that_are_not_json_fail_and_are_recorded(arguments: Any) -> None:
    async with Harness(*TOOLS) as harness:
        outcome = await harness.session.call("now", arguments)
        assert outcome.error is not None
        assert outcome.error.category == "validation"
        assert harness.kinds()[-1] == "tool_result"


async def test_t7_model_cannot_forge_the_context() -> None:
    async with Harness(*TOOLS) as harness:
        outcome = await harness.session.call("now", {"session_id": "other", "user_id": "root", "ctx": {}})
        assert outcome.error is not None
        assert outcome.error.category == "validation"


async def test_e1_calls_schedule_themselves() -> None:
    """An idle runtime has no task, and ten thousand sessions add none."""
    async with Harness(now, limits=Limits()) as harness:
        before = len(asyncio.all_tasks())
        sessions = [await harness.runtime.open(f"s{number}", "ann") for number in range(1_000)]
        assert len(asyncio.all_tasks()) == before
        outcomes = await asyncio.gather(*(session.call("now") for session in sessions))
        assert [outcome.value[0] for outcome in outcomes] == [session.id for session in sessions]
        await settle()
        assert len(asyncio.all_tasks()) == before


async def test_b2_notices_reach_the_people_of_the_session() -> None:
    async with Harness(now) as harness:
        seq = await harness.session.notice("Look.", state="fine")
        (event,) = harness.events()
        assert (event.seq, event.kind, event.data) == (
            seq,
            "system_notice",
            {"message": "Look.", "state": "fine"},
        )


async def test_t5_call_with_no_arguments_text_bytes_or_data() -> None:
    @tool
    async def echo(text: Annotated[str, "What"] = "none") -> str:
        """Echo."""
        return text

    async with Harness(echo) as harness:
        given: list[Any] = [None, {}, "{}", b"{}", {"text": "a"}, '{"text":"a"}', b'{"text":"a"}']
        values = [(await harness.session.call("echo", arguments)).value for arguments in given]
        assert values == ["none"] * 4 + ["a"] * 3
