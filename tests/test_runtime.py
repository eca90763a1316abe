"""The runtime: it makes every part, joins them, and ends them; any number can live in one process (E1)."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Any, Self, cast

import pytest

from callboard import (
    CallboardError,
    CallIdInvalid,
    Registry,
    Runtime,
    RuntimeNotOpen,
    Session,
    Settings,
    SettingsError,
    ToolError,
    tool,
)
from callboard.adapters.stores.memory import MemoryStore
from callboard.sessions.session import live_session
from callboard.storage.errors import StoreError
from callboard.storage.store import Woken
from callboard.testing import ManualClock, settle

pytestmark = pytest.mark.anyio


@tool
async def one() -> int:
    """Give one."""
    return 1


async def test_e1_two_runtimes_in_one_process_share_nothing() -> None:
    async with Runtime([one]) as first, Runtime([one]) as second:
        a, b = await first.open("s", "ann"), await second.open("s", "bob")
        assert (await a.call("one")).value == (await b.call("one")).value == 1
        assert (a.board.last_seq, b.board.last_seq) == (4, 4)
        first.registry.unregister("one")
        assert (await b.call("one")).value == 1


async def test_e1_runtime_of_a_registry_uses_that_registry() -> None:
    registry = Registry([one])
    async with Runtime(registry) as runtime:
        session = await runtime.open("s", "u")
        await session.call("one")
        await registry.call("one")
    assert registry.stats("one").calls == 2


@pytest.mark.parametrize("store", ["mysql://x", "memory", ""])
def test_d1_unknown_store_is_refused_by_name(store: str) -> None:
    with pytest.raises(StoreError, match="There is no store for"):
        Runtime([], store=store)


class ThirdPartyStore(MemoryStore):
    """A store that Callboard does not know: it counts how often the runtime opens and closes it."""

    def __init__(self, *, durable: bool) -> None:
        super().__init__()
        self.durable = durable
        self.opened = self.closed = 0

    async def open(self, woken: Woken) -> None:
        self.opened += 1
        await super().open(woken)

    async def close(self) -> None:
        self.closed += 1
        await super().close()


@pytest.mark.parametrize("durable", [False, True])
async def test_e1_runtime_opens_and_closes_a_store_object(durable: bool) -> None:
    store = ThirdPartyStore(durable=durable)
    runtime = Runtime([one], store=store)
    assert (runtime.store, store.opened) == (store, 0)
    async with runtime:
        assert (store.opened, store.closed) == (1, 0)
        session = await runtime.open("s", "u")
        assert (await session.call("one", call_id="c1")).value == 1
    assert (store.opened, store.closed) == (1, 1)


async def test_e1_durable_store_object_outlives_the_runtime() -> None:
    @tool(mode="background")
    async def index() -> int:
        """Index a folder."""
        return 240

    store = ThirdPartyStore(durable=True)
    async with Runtime([index], store=store) as runtime:
        session = await runtime.open("s", "u")
        started = await session.call("index", call_id="c1")
        await session.result(started.execution_id)
    async with Runtime([index], store=store) as runtime:
        session = await runtime.open("s", "u")
        assert [each.value for each in await session.take_results()] == [240]
        assert (await session.call("index", call_id="c1")).execution_id == started.execution_id
        async with aclosing(session.events()) as events:
            assert (await anext(events)).kind == "tool_started", "the log is read from the store"
    assert (store.opened, store.closed) == (2, 2)


async def test_e1_runtime_can_be_entered_again() -> None:
    runtime = Runtime([one], clock=ManualClock())
    for _ in range(2):
        async with runtime:
            session = await runtime.open("s", "u")
            assert (await session.call("one")).value == 1
        with pytest.raises(RuntimeNotOpen, match="The runtime of session 's' has ended"):
            await session.call("one")


async def test_e1_runtime_and_its_sessions_refuse_another_event_loop() -> None:
    runtime = Runtime([one])

    def use(make: Callable[[], Any]) -> None:
        async def used() -> Any:
            return await make()

        with pytest.raises(RuntimeNotOpen, match="open in another event loop"):
            asyncio.run(used())

    async with runtime:
        session = await runtime.open("s", "u")
        for make in (
            lambda: runtime.open("s", "u"),
            lambda: runtime.open("new", "u"),
            lambda: session.call("one"),
            lambda: session.call("unknown"),
            lambda: session.result("e"),
            lambda: session.notice("x"),
            lambda: anext(session.events()),
            lambda: runtime.__aexit__(None, None, None),
        ):
            await asyncio.to_thread(use, make)
        call = await asyncio.to_thread(lambda: session.call("one"))  # made where no loop runs, awaited here
        assert (await call).value == 1


def test_e1_runtime_that_was_entered_in_a_loop_that_is_closed_says_so() -> None:
    runtime = Runtime([one])

    async def enter() -> Session:
        await runtime.__aenter__()
        return await runtime.open("s", "u")

    session = asyncio.run(enter())
    with pytest.raises(RuntimeNotOpen, match=r"with one asyncio\.run for both"):
        asyncio.run(session.call("one"))  # type: ignore[arg-type]


async def test_e1_session_is_opened_only_while_the_runtime_is_open() -> None:
    runtime = Runtime([one])
    assert issubclass(RuntimeNotOpen, CallboardError)
    with pytest.raises(RuntimeNotOpen, match=r"Open sessions inside `async with Runtime\(…\) as runtime:`"):
        await runtime.open("s", "u")
    async with runtime:
        await runtime.open("s", "u")
    with pytest.raises(RuntimeNotOpen):
        await runtime.open("s", "u")


async def test_e1_session_that_outlives_its_runtime_can_only_be_read(store_url: str) -> None:
    async with Runtime([one], store=store_url) as runtime:
        session = await runtime.open("s", "u")
        done = await session.call("one")
    calls: dict[str, Callable[[], Any]] = {
        "answer": lambda: session.answer("r1", {}),
        "call": lambda: session.call("one"),
        "cancel": lambda: session.cancel(done.execution_id),
        "cancel_all": session.cancel_all,
        "cancel_call": lambda: session.cancel_call("c1"),
        "close": session.close,
        "events": lambda: anext(session.events()),
        "history": session.history,
        "interrupt": session.interrupt,
        "latest_messages": session.latest_messages,
        "messages": session.messages,
        "notice": lambda: session.notice("x"),
        "post": lambda: session.post({"kind": "user_input", "text": "x"}),
        "requests": session.requests,
        "result": lambda: session.result(done.execution_id),
        "say": lambda: session.say("x"),
        "snapshot": session.snapshot,
        "subscribe": lambda: session.subscribe(print),
        "take_results": session.take_results,
        "tools": session.tools,
    }
    methods = {name for name in dir(Session) if not name.startswith("_") and callable(getattr(Session, name))}
    assert calls.keys() == methods - {"execution", "executions", "result_text"}

    async def use(call: Callable[[], Any]) -> None:
        await call()

    for call in calls.values():
        with pytest.raises(RuntimeNotOpen, match="has ended"):
            await use(call)
    assert (session.id, session.user_id, session.is_processing) == ("s", "u", False)
    assert session.board.last_seq == 4
    assert session.executions() == [session.execution(done.execution_id)]
    assert session.result_text(done.execution_id) == "1"


async def test_e1_state_of_a_session_cannot_be_assigned() -> None:
    async with Runtime([one]) as runtime:
        session = await runtime.open("s", "u")
        for name in ("id", "user_id", "board", "open", "is_open", "is_processing", "has_pending_work", "ledger"):
            with pytest.raises(AttributeError):
                setattr(session, name, False)
        assert repr(session) == "Session(id='s', user_id='u')"


async def test_e1_tools_are_started_before_their_first_call_and_stopped_after_the_last() -> None:
    steps: list[str] = []

    @tool
    class Client:
        """Ask."""

        async def __aenter__(self) -> Self:
            steps.append("entered")
            return self

        async def __aexit__(self, *exc: object) -> None:
            steps.append("left")

        async def __call__(self) -> str:
            try:
                steps.append("called")
                await asyncio.Event().wait()
            finally:
                steps.append("cleaned")
            return ""

    async with Runtime([Client()], clock=ManualClock()) as runtime:
        session = await runtime.open("s", "u")
        call = asyncio.ensure_future(session.call("client"))
        await settle()
    assert steps == ["entered", "called", "cleaned", "left"], "the resource of a handler outlives its clean-up"
    assert (await call).status == "cancelled"


async def test_e1_error_inside_propagates_unchanged_and_everything_ends() -> None:
    @tool(mode="background")
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    sessions: list[Session] = []

    async def fail() -> None:
        async with Runtime([hang]) as runtime:
            sessions.append(await runtime.open("s", "u"))
            await sessions[0].call("hang")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fail()
    assert [record.status for record in sessions[0].executions()] == ["cancelled"]


async def test_e1_nothing_is_left_running() -> None:
    before = len(asyncio.all_tasks())
    async with Runtime([one], blocked_after=0.02) as runtime:
        session = await runtime.open("s", "u")
        await session.call("one")
    assert len(asyncio.all_tasks()) == before
    for thread in threading.enumerate():
        if thread.name == "callboard-watchdog":
            await asyncio.to_thread(thread.join, 90)
            assert not thread.is_alive()


async def test_e1_runtime_that_has_ended_is_freed(store_url: str) -> None:
    async def use() -> list[weakref.ref[Any]]:
        async with Runtime([one], model="offline", store=store_url) as runtime:
            session = await runtime.open("s", "u")
            await session.call("one")
            assert (await session.say("one {}")).status == "finished"
        return [weakref.ref(runtime), weakref.ref(live_session(session))]

    ended = await use()
    async with asyncio.timeout(90):
        while any(each() for each in ended):  # a thread of the store may still hold its last job
            gc.collect()
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": None}, "store is None; it must be the address of a store, such as sqlite:///callboard.db."),
        ({"retry": 3}, "retry is 3; it must be a RetryPolicy, as in retry=RetryPolicy(…)."),
        ({"breaker": 3}, "breaker is 3; it must be a BreakerPolicy"),
        ({"limits": {"total": 3}}, "limits is {'total': 3}; it must be a Limits, as in limits=Limits(…)."),
        ({"settings": {}}, "settings is {}; it must be a Settings"),
        ({"workers": one}, "it must be a list of tools."),
        ({"workers": ["one"]}, "workers is ['one']; it must be a list of tools."),
        ({"grace": timedelta(seconds=3)}, "it must be a number of seconds, such as 3."),
        ({"idle_after": None}, "idle_after is None; it must be a number of seconds."),
        ({"blocked_after": 0}, "blocked_after is 0; it must be above 0."),
        ({"keep_events": 0}, "keep_events is 0; it must be at least 1."),
        ({"keep_for": "3"}, "keep_for is '3'; it must be a number of seconds."),
        ({"keep_executions": -1}, "keep_executions is -1; it must be at least 0."),
        ({"concurrency": "2"}, "concurrency is '2'; it must be a whole number."),
        ({"queues": "gpu"}, "queues is the string 'gpu'; it must be a list of strings."),
        ({"queues": ["gpu"]}, "queues needs an engine, which sends the calls, as in engine='nats://host:4222'."),
        ({"instructions": ["x"]}, "instructions is ['x']; it must be a string or None."),
        ({"turn_limits": {"requests": 1}}, "it must be a TurnLimits, as in turn_limits=TurnLimits(…)."),
        ({"model_settings": 5}, "model_settings is 5; it must be a dict, or None."),
        ({"cancel_on_interrupt": "no"}, "cancel_on_interrupt is 'no'; it must be True or False."),
        ({"recover": None}, "recover is None; it must be True or False."),
        ({"clock": 5}, "clock is 5; it must be a clock, such as callboard.testing.ManualClock()."),
    ],
)
def test_e1_a_wrong_option_of_a_runtime_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Runtime([one], **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"session_id": None}, "session_id is None; it must be a string."),
        ({"user_id": 7}, "user_id is 7; it must be a string."),
        ({"channel": ["text"]}, "channel is ['text']; it must be a string, such as 'text'."),
        ({"namespaces": "shop"}, "namespaces is the string 'shop'; it must be a list of strings."),
        ({"allow": [3]}, "allow is [3]; it must be a list of strings."),
        ({"wake": "wak"}, "wake is 'wak'. Did you mean 'wake'? Known: wake, wait, ui_only."),
    ],
)
async def test_e2_a_wrong_option_of_a_session_is_named(options: dict[str, Any], message: str) -> None:
    async with Runtime([one]) as runtime:
        with pytest.raises((ValueError, TypeError)) as caught:
            await runtime.open(**{"session_id": "s1", "user_id": "ann", **options})
        assert message in str(caught.value)


async def test_e2_wrong_ids_and_priorities_of_calls_are_named() -> None:
    async with Runtime([one]) as runtime:
        session = await runtime.open("s1", user_id="ann")
        wrong: Any = None
        outcome = await session.call(wrong)
        assert outcome.error is not None
        assert outcome.error.message == "There is no tool 'None'."
        with pytest.raises(ToolError, match="There is no execution 'None'"):
            await session.result(wrong)
        with pytest.raises(ValueError, match="'None' is not a priority"):
            await session.call("one", priority=wrong)
        with pytest.raises(CallIdInvalid):
            await session.call("one", call_id=3)  # pyright: ignore[reportArgumentType]
        with pytest.raises(TypeError, match="call_id is 3; it must be a non-empty string"):
            await session.cancel_call(3)  # pyright: ignore[reportArgumentType]


async def test_e2_objects_and_values_that_methods_of_a_session_do_not_take_are_named() -> None:
    @tool(mode="human")
    async def pay() -> None:
        """Pay."""

    async with Runtime([one, pay], model="offline") as runtime:
        session = await runtime.open("s1", user_id="ann")
        waiting: Any = await session.call("pay")
        (request,) = await session.requests()
        record, asked = cast(Any, session.execution(waiting.execution_id)), cast(Any, request)
        wrong: Any = "5"

        def function() -> None: ...

        uses: dict[str, Callable[[], Any]] = {
            "not an object of the class Outcome: give 'x": lambda: session.result(waiting),
            "not an object of the class ExecutionRecord: give 'x": lambda: session.cancel(record),
            "not an object of the class OpenRequest: give 'r": lambda: session.answer(asked, {"approved": True}),
            "name it as a string: 'function'": lambda: session.call(cast(Any, function)),
            "timeout is '5'; it must be a number of seconds": lambda: session.result("x", wrong),
            "grace is '5'; it must be a number of seconds": lambda: session.close(wrong),
            "before is '5'; it must be a whole number": lambda: session.latest_messages(wrong),
            "most is '5'; it must be a whole number": lambda: session.latest_messages(most=wrong),
            "message is 5; it must be a non-empty string": lambda: session.notice(cast(Any, 5)),
            "The notice cannot be written as JSON": lambda: session.notice("x", detail=object()),
        }
        for message, use in uses.items():
            with pytest.raises((TypeError, ValueError)) as caught:
                await use()
            assert message in str(caught.value)
        assert (await session.requests())[0].id == request.id, "the request is still open"


def test_e1_settings_beside_a_registry_that_has_others_are_refused() -> None:
    settings = Settings(max_calls=5)
    with pytest.raises(SettingsError, match="A registry has settings of its own"):
        Runtime(Registry(), settings=settings)
    assert Runtime(Registry(settings=settings), settings=settings).manager.limits.total == 5
    assert Runtime([], settings=settings).manager.limits.total == 5
