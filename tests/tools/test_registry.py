"""The registry: names, changes, statistics, snapshots, the manifest, and the view of a session (G1 to G6, T4)."""

import asyncio
import dataclasses
import importlib
import json
import logging
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, NewType, NotRequired, TypeVar

import anyio
import pydantic.dataclasses
import pytest
from pydantic import BaseModel, Field, RootModel
from typing_extensions import TypeAliasType, TypedDict

from callboard import (
    LocalToolset,
    RegistrationError,
    Registry,
    SchemaError,
    Settings,
    Tool,
    ToolContext,
    ToolError,
    tool,
)
from callboard.errors import ErrorCategory
from callboard.tools.stats import _BUFFER, ToolStats
from callboard.tools.subscription import Change

pytestmark = pytest.mark.anyio


def named(name: str, *, origin: str | None = None, **options: Any) -> Tool:
    async def handler(a: Annotated[int, "A number"] = 0) -> int:
        """Do something."""
        return a

    handler.__qualname__ = f"named.{name}"
    made = tool(name=name, **options)(handler)
    return made if origin is None else made.with_(origin=origin)


async def test_m3_registry_does_not_run_a_tool_that_needs_an_approval() -> None:
    paid: list[int] = []

    async def pay(euros: Annotated[int, "How much"]) -> None:
        """Pay."""
        paid.append(euros)

    for made in (tool(mode="human")(pay), tool(mode="human", timeout=5)(pay)):
        with pytest.raises(ToolError) as caught:
            await Registry([made]).call_json("pay", '{"euros": 5}')
        assert (caught.value.category, caught.value.message) == (
            "configuration",
            "The tool pay asks a person and needs a session.",
        )
    assert paid == []


# G1: names


def test_g1_register_get_has_names_all() -> None:
    registry = Registry([named("b"), named("a")])
    third = registry.register(named("c"))
    assert registry.names() == ("b", "a", "c")
    assert [each.name for each in registry.all()] == ["b", "a", "c"]
    assert [each.name for each in registry] == ["b", "a", "c"]
    assert len(registry) == 3
    assert registry.get("c") is third is registry["c"]
    assert registry.get("d") is None
    assert (registry.has("a"), registry.has("d"), "a" in registry, "d" in registry) == (True, False, True, False)


def test_g1_a_plain_function_is_made_a_tool() -> None:
    def plain(a: Annotated[int, "A number"]) -> int:
        """Do something."""
        return a

    assert Registry([plain]).names() == ("plain",)


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        (None, "The tools must be a list of tools, not NoneType."),
        (named("a"), "The tools must be a list of tools, not Tool. Put it into brackets: [tool]."),
        ("shop", "The tools must be a list of tools, not str."),
        ({"a": named("a")}, "The tools must be a list of tools, not dict."),
        ([None], "A registry takes tools, functions and toolsets, not NoneType."),
        ([[named("a")]], "A registry takes tools, functions and toolsets, not list."),
        ([Settings], "The class Settings must be decorated with @tool and instantiated first: Settings(…)."),
        ([min], "The parameters of <built-in function min> cannot be read."),
    ],
)
def test_g1_what_is_no_tool_is_refused(tools: Any, message: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        Registry(tools)
    assert message in str(caught.value)


def test_t4_an_empty_description_is_none() -> None:
    async def take(it: Annotated[int, " "]) -> None:
        """Take."""

    with pytest.raises(RegistrationError, match=r"without a description: it\."):
        Registry([take])


def test_g1_toolsets_are_included() -> None:
    registry = Registry([named("a"), LocalToolset([named("b"), named("c")])])
    registry.include(LocalToolset([named("d")]))
    assert registry.names() == ("a", "b", "c", "d")


def test_g1_by_namespace_group_tag_and_channel() -> None:
    registry = Registry(
        [
            named("a", namespace="n", group="g", tags=("x", "y"), channels=("text",)),
            named("b", namespace="n", group="h", tags=("y",), channels=("voice",)),
            named("c", tags=()),
        ]
    )

    def found(tools: tuple[Tool, ...]) -> str:
        return "".join(each.name for each in tools)

    assert found(registry.by_namespace("n")) == "ab"
    assert found(registry.by_namespace("default")) == "c"
    assert found(registry.by_group("h")) == "b"
    assert found(registry.by_tag("y")) == "ab"
    assert found(registry.by_tag("z")) == ""
    assert found(registry.by_channel("text")) == "ac"
    assert found(registry.by_channel("telegram")) == "c"


def test_g1_a_taken_name_is_refused_unless_it_is_replaced() -> None:
    first, second = named("a"), named("a").with_(origin="elsewhere:a", namespace="other")
    registry = Registry([first])
    with pytest.raises(RegistrationError, match="A tool 'a' is already registered, in namespace 'default'"):
        registry.register(second)
    with pytest.raises(RegistrationError, match=r"Rename one of them, as with @tool\(name=…\)"):
        Registry([first, second])
    assert registry["a"] is first
    assert registry.register(second, replace=True) is second
    assert registry["a"] is second
    assert registry.replace(first) is first
    assert registry.replace(named("new")).name == "new"
    assert registry.names() == ("a", "new")


def test_g1_two_tools_without_an_origin_do_not_replace_each_other() -> None:
    registry = Registry([named("a").with_(origin=None)])
    with pytest.raises(RegistrationError):
        registry.register(named("a").with_(origin=None))


MODULE = '''
from typing import Annotated
from callboard import tool

@tool
async def reloaded(a: Annotated[int, "A number"] = 0) -> int:
    """{words}"""
    return a + {add}
'''


async def test_g1_the_same_function_after_a_reload_replaces_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "reloadable_tools.py"
    source.write_text(MODULE.format(words="First.", add=1))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    module = importlib.import_module("reloadable_tools")
    registry = Registry([named("before"), module.reloaded, named("after")])
    assert await registry.call("reloaded") == 1
    source.write_text(MODULE.format(words="Second, longer.", add=10))
    module = importlib.reload(module)
    registry.register(module.reloaded)
    assert registry["reloaded"].description == "Second, longer."
    assert await registry.call("reloaded") == 10
    assert registry.names() == ("before", "reloaded", "after")
    assert registry.stats("reloaded").calls == 2


def test_g1_unregister_and_clear() -> None:
    registry = Registry([named("a"), named("b")])
    assert registry.unregister("a").name == "a"
    assert registry.names() == ("b",)
    for missing in (lambda: registry.unregister("a"), lambda: registry["a"], lambda: registry.stats("a")):
        with pytest.raises(ToolError, match="There is no tool 'a'") as caught:
            missing()
        assert caught.value.category == "not_found"
    registry.clear()
    assert (registry.names(), len(registry)) == ((), 0)


def test_g1_iteration_is_stable_while_the_registry_changes() -> None:
    registry = Registry([named("a"), named("b"), named("c")])
    seen: list[str] = []
    for each in registry:
        seen.append(each.name)
        if each.name == "a":
            registry.unregister("b")
            registry.register(named("d"))
    assert seen == ["a", "b", "c"]
    assert registry.names() == ("a", "c", "d")


async def test_g1_an_unknown_tool_is_not_found_and_its_name_is_cut() -> None:
    with pytest.raises(ToolError) as caught:
        await Registry().call("x" * 10_000, {})
    assert caught.value.category == "not_found"
    assert len(caught.value.message) < 300


def test_g1_a_tool_that_a_required_dialect_cannot_express_is_refused_at_registration() -> None:
    class Item(BaseModel):
        a: Annotated[int, Field(description="A")]

    @tool
    async def open_ended(items: Annotated[dict[str, Item], "Items"], b: Annotated[int, "B"] = 1) -> None:
        """Take."""

    assert Registry([open_ended]).names() == ("open_ended",)
    with pytest.raises(SchemaError) as caught:
        Registry([open_ended], dialects=["openai-strict"])
    assert caught.value.path == "items"
    with pytest.raises(SchemaError, match="There is no dialect 'latin'"):
        Registry([open_ended], dialects=["latin"])


# G2: changes


async def settle() -> None:
    """Let the loop deliver pending changes."""
    for _ in range(3):
        await anyio.lowlevel.checkpoint()


async def test_g2_changes_are_delivered_in_order_with_the_names() -> None:
    registry = Registry([named("a")])
    changes: list[Change] = []
    with registry.subscribe(changes.append):
        registry.register(named("b"))
        registry.replace(named("a"))
        registry.unregister("a")
        registry.clear()
        assert changes == []  # the caller does not wait for subscribers
        await settle()
    assert changes == [
        ("registered", "b", ("a", "b")),
        ("replaced", "a", ("a", "b")),
        ("unregistered", "a", ("b",)),
        ("cleared", None, ()),
    ]


async def test_g2_a_refused_registration_is_no_change() -> None:
    registry = Registry([named("a")])
    changes: list[Change] = []
    with registry.subscribe(changes.append):
        with pytest.raises(RegistrationError):
            registry.register(named("a").with_(origin=None))
        with pytest.raises(ToolError):
            registry.unregister("b")
        await settle()
    assert changes == []


async def test_g2_a_failing_subscriber_does_not_affect_others(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry()
    received: list[str | None] = []

    def failing(change: Change) -> None:
        raise RuntimeError("subscriber")

    async def failing_later(change: Change) -> None:
        raise RuntimeError("async subscriber")

    with (
        registry.subscribe(failing),
        registry.subscribe(failing_later),
        registry.subscribe(lambda c: received.append(c.name)),
    ):
        registry.register(named("a"))
        registry.register(named("b"))
        with caplog.at_level(logging.ERROR):
            await settle()
            await settle()
    assert received == ["a", "b"]
    assert len([record for record in caplog.records if record.name == "callboard.registry"]) == 4


async def test_g2_a_slow_subscriber_does_not_block_and_is_cancelled_when_it_is_closed() -> None:
    registry = Registry()
    started, ended = anyio.Event(), anyio.Event()
    fast: list[str | None] = []

    async def slow(change: Change) -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    with registry.subscribe(slow), registry.subscribe(lambda change: fast.append(change.name)):
        registry.register(named("a"))
        await started.wait()
        registry.register(named("b"))
        await settle()
        assert fast == ["a", "b"]
        assert not ended.is_set()
    with anyio.fail_after(90):
        await ended.wait()


async def test_g2_a_closed_subscription_receives_nothing_more() -> None:
    registry = Registry()
    received: list[str | None] = []
    with registry.subscribe(lambda change: received.append(change.name)) as subscription:
        registry.register(named("a"))
        await settle()
        registry.register(named("b"))  # still on its way when the block ends
    await settle()
    registry.register(named("c"))
    await settle()
    assert received == ["a"]
    subscription.close()  # harmless


async def test_g2_a_change_from_another_thread_is_delivered_on_the_loop_of_the_subscriber() -> None:
    registry = Registry()
    received = anyio.Event()
    loops: list[Any] = []

    def subscriber(change: Change) -> None:
        loops.append(asyncio.get_running_loop())
        received.set()

    with registry.subscribe(subscriber):
        await anyio.to_thread.run_sync(registry.register, named("a"))
        with anyio.fail_after(90):
            await received.wait()
    assert loops == [asyncio.get_running_loop()]


def test_g2_outside_of_a_loop_a_subscriber_is_called_at_once() -> None:
    registry = Registry()
    received: list[str | None] = []

    def failing(change: Change) -> None:
        raise RuntimeError

    with registry.subscribe(failing), registry.subscribe(lambda change: received.append(change.name)):
        registry.register(named("a"))
        assert received == ["a"]


# G3: statistics


async def test_g3_calls_failures_and_times() -> None:
    @tool
    async def work(how: Annotated[str, "What happens"]) -> int:
        """Work."""
        if how == "break":
            raise ConnectionError
        if how == "refuse":
            raise ToolError("no", category="permission")
        return 1

    registry = Registry([work, named("idle")])
    before = datetime.now(UTC)
    for how in ("ok", "ok", "break", "refuse", "break", "ok"):
        try:
            await registry.call("work", {"how": how})
        except ToolError:
            continue
    with pytest.raises(ToolError):
        await registry.call("work", {"how": 5})
    stats = registry.stats("work")
    assert (stats.calls, stats.successes, stats.cancellations, stats.retries) == (7, 3, 0, 0)
    assert stats.failures == {"transient": 2, "permission": 1, "validation": 1}
    assert stats.success_rate == pytest.approx(3 / 7)
    assert stats.last_error_at is not None
    assert before <= stats.last_error_at <= datetime.now(UTC)
    assert stats.total_time > 0
    assert stats.average_time == pytest.approx(stats.total_time / 7)
    assert stats.p50 is not None
    assert stats.p99 is not None
    assert 0 < stats.p50 <= stats.p99 <= stats.total_time
    assert stats.breaker == "closed"
    idle = registry.stats("idle")
    assert (idle.calls, idle.successes, idle.failures, idle.total_time) == (0, 0, {}, 0.0)
    assert (idle.average_time, idle.p50, idle.success_rate, idle.last_error_at) == (None, None, None, None)


async def test_g3_a_cancelled_call_is_counted_as_such_and_not_as_a_failure() -> None:
    started = anyio.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        started.set()
        await anyio.sleep_forever()

    registry = Registry([wait])
    async with anyio.create_task_group() as group:
        group.start_soon(registry.call, "wait")
        await started.wait()
        group.cancel_scope.cancel()
    stats = registry.stats("wait")
    assert (stats.calls, stats.cancellations, stats.successes, stats.failures) == (1, 1, 0, {})
    assert (stats.success_rate, stats.last_error_at) == (None, None)


async def test_g3_a_native_cancellation_comes_out_as_one() -> None:
    started = anyio.Event()

    @tool
    async def wait(ctx: ToolContext) -> None:
        """Wait."""
        started.set()
        await anyio.sleep_forever()

    registry = Registry([wait])
    task = asyncio.ensure_future(registry.call("wait"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert registry.stats("wait").cancellations == 1


async def test_g3_reset_of_one_and_of_all() -> None:
    registry = Registry([named("a"), named("b")])
    for name in ("a", "b"):
        await registry.call(name)
        with pytest.raises(ToolError):
            await registry.call(name, {"a": "x"})
    registry.counters("a").breaker = "open"
    registry.reset_stats("a")
    assert registry.stats("a")[:3] == (0, 0, {})
    assert registry.stats("a").last_error_at is None
    assert registry.stats("a").breaker == "open"
    assert registry.stats("b").calls == 2
    registry.reset_stats()
    assert registry.stats("b").calls == 0
    with pytest.raises(ToolError) as caught:
        registry.reset_stats("c")
    assert caught.value.category == "not_found"


@pytest.mark.parametrize("count", [100, 20_000])
def test_g3_percentiles_are_near_the_true_ones(count: int) -> None:
    counters = ToolStats()
    durations = [float(number) for number in range(1, count + 1)]
    random.Random(7).shuffle(durations)
    for seconds in durations:
        counters.ended(seconds)
    stats = counters.read()
    assert stats.calls == count
    assert stats.total_time == pytest.approx(count * (count + 1) / 2)
    for measured, share in ((stats.p50, 0.5), (stats.p95, 0.95), (stats.p99, 0.99)):
        assert measured == pytest.approx(share * count, rel=0.02, abs=1)


def test_g3_reading_does_not_disturb_the_counting() -> None:
    counters = ToolStats()
    for seconds in (1.0, 2.0, 3.0):
        counters.ended(seconds)
        counters.read()
    counters.failed(ErrorCategory.TIMEOUT, 4.0, datetime(2026, 1, 1, tzinfo=UTC))
    counters.retries += 2
    stats = counters.read()
    assert counters.read() == stats
    assert (stats.calls, stats.successes, stats.failures, stats.retries) == (4, 3, {"timeout": 1}, 2)
    assert (stats.total_time, stats.average_time, stats.success_rate) == (10.0, 2.5, 0.75)
    assert stats.last_error_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_g3_memory_does_not_grow_with_the_calls() -> None:
    counters = ToolStats()
    for _ in range(3000):
        counters.ended(0.001)
    assert len(counters._durations) < _BUFFER


# G4: snapshots


async def test_g4_a_snapshot_is_pinned_whatever_happens_to_the_registry() -> None:
    gates = {"beta": True}
    registry = Registry([named("a"), named("b", gate="beta"), named("c")], settings=Settings(gates=gates))
    pinned = registry.snapshot()
    schemas, first = json.dumps(list(pinned.schemas())), pinned.get("a")
    registry.replace(named("a").with_(description="Changed"))
    registry.unregister("c")
    registry.register(named("d"))
    gates["beta"] = False
    assert [each.name for each in pinned] == ["a", "b", "c"]
    assert json.dumps(list(pinned.schemas())) == schemas
    assert pinned.get("a") is first
    assert first is not None
    assert first.description == "Do something."
    assert ("c" in pinned, "d" in pinned, pinned.get("d"), len(pinned)) == (True, False, None, 3)
    assert [each.name for each in registry.snapshot()] == ["a", "d"]


def test_g4_schemas_of_a_snapshot_are_those_of_its_tools_in_any_dialect() -> None:
    registry = Registry([named("a"), named("b")])
    assert list(registry.snapshot().schemas("openai")) == [each.schema("openai") for each in registry]


# G5: the manifest


def test_g5_the_manifest_is_complete_json() -> None:
    full = named(
        "full",
        namespace="n",
        topic="Title",
        group="g",
        tags=("t",),
        channels=("voice", "text"),
        gate="beta",
        mode="background",
        idempotent=True,
        timeout=5,
        estimated_duration=2.5,
        usage="Rarely.",
        examples=[{"a": 1}],
    )
    registry = Registry(
        [full, named("gated", gate=lambda: True), named("plain")], settings=Settings(gates={"beta": False})
    )
    shown = json.loads(json.dumps(registry.manifest(["claude", "mcp"]), allow_nan=False))
    assert shown["version"] == 1
    first, gated, plain = shown["tools"]
    assert first == {
        "name": "full",
        "namespace": "n",
        "title": "Title",
        "description": "Do something.",
        "usage": "Rarely.",
        "mode": "background",
        "group": "g",
        "tags": ["t"],
        "channels": ["text", "voice"],
        "gate": {"name": "beta", "open": False},
        "idempotent": True,
        "timeout": 5,
        "placement": None,
        "queue": None,
        "breaker": None,
        "estimated_duration": 2.5,
        "examples": [{"a": 1}],
        "input_schema": full.input_schema,
        "output_schema": {"type": "integer"},
        "schemas": {"claude": full.schema("claude"), "mcp": full.schema("mcp")},
    }
    assert gated["gate"]["open"] is True
    assert plain["gate"] is None
    assert "schemas" not in registry.manifest()["tools"][0]


def test_g5_a_dialect_that_cannot_say_a_tool_is_noted_in_its_entry() -> None:
    class Item(BaseModel):
        a: Annotated[int, Field(description="A")]

    @tool
    async def open_ended(items: Annotated[dict[str, Item], "Items"], b: Annotated[int, "B"] = 1) -> None:
        """Take."""

    entry = Registry([open_ended]).manifest(["openai-strict"])["tools"][0]["schemas"]["openai-strict"]
    assert entry["path"] == "items"
    assert entry["error"]
    with pytest.raises(SchemaError, match="latin"):
        Registry([open_ended]).manifest(["latin"])


# G6: who sees what


def test_g6_the_reserved_namespace_is_refused_to_others() -> None:
    with pytest.raises(RegistrationError, match="reserved"):
        Registry([named("task_list", namespace="callboard")])


def test_g6_a_session_sees_its_namespaces_its_channel_and_its_allowed_tools() -> None:
    registry = Registry(
        [
            named("a", namespace="n"),
            named("b", namespace="m", channels=("voice",)),
            named("c"),
            named("task_status", namespace="callboard", channels=("text",), origin="callboard.toolkits.tasks"),
        ]
    )

    def seen(**choice: Any) -> list[str]:
        return [each.name for each in registry.snapshot(**choice)]

    assert seen() == ["a", "b", "c", "task_status"]
    assert seen(namespaces=["n"]) == ["a", "task_status"]
    assert seen(namespaces=[]) == ["task_status"]
    assert seen(channel="text") == ["a", "c", "task_status"]
    assert seen(channel="voice") == ["a", "b", "c", "task_status"]
    assert seen(namespaces={"n", "m"}, channel="text") == ["a", "task_status"]
    assert seen(allow=["b", "c"]) == ["b", "c", "task_status"]
    assert seen(allow=[]) == ["task_status"]
    assert seen(namespaces=["nowhere"], allow=["a"]) == ["task_status"]


async def test_g6_a_closed_gate_hides_the_tool_while_its_handler_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = [False]

    def failing() -> bool:
        raise RuntimeError("unknown")

    registry = Registry(
        [
            named("flag", gate="Beta"),
            named("unset", gate="gamma"),
            named("called", gate=lambda: opened[0]),
            named("failing", gate=failing),
            named("env", gate="env:SOME_FLAG"),
            named("internal", namespace="callboard", gate="gamma", origin="callboard.toolkits.x"),
        ],
        settings=Settings(gates={"beta": True}),
    )

    def seen() -> list[str]:
        return [each.name for each in registry.snapshot()]

    monkeypatch.delenv("SOME_FLAG", raising=False)
    assert seen() == ["flag"]
    opened[0] = True
    assert seen() == ["flag", "called"]
    for value, shown in (("1", True), ("yes", True), ("0", False), ("", False), ("FALSE", False), ("off", False)):
        monkeypatch.setenv("SOME_FLAG", value)
        assert ("env" in seen()) is shown
    assert registry.has("unset")
    assert await registry.call("unset", {"a": 4}) == 4


def test_g6_gates_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_GATE_BETA", "on")
    assert len(Registry([named("a", gate="beta")]).snapshot()) == 1


# T4: descriptions


class Inner(BaseModel):
    described: Annotated[int, Field(description="Yes")]
    bare: int


class Speaking(BaseModel):
    """It speaks for itself."""

    a: Annotated[int, Field(description="A")]


class Mute(BaseModel):
    a: Annotated[int, Field(description="A", alias="renamed")] = 0
    b: int = Field(alias="other")


@dataclasses.dataclass
class Data:
    """Data."""

    bare: int
    described: Annotated[int, Field(description="Yes")] = 0


@pydantic.dataclasses.dataclass
class PydanticData:
    """Data."""

    bare: int
    described: int = Field(description="Yes", default=0)


class Typed(TypedDict):
    bare: int
    described: Annotated[int, Field(description="Yes")]
    left: NotRequired[Annotated[int, Field(description="Yes")]]
    right: NotRequired[int]


class Roots(RootModel[list[Inner]]):
    """Many."""


class Tree(BaseModel):
    """A tree."""

    bare: int
    below: list["Tree"] = Field(default=[], description="Below")


T = TypeVar("T")


@dataclasses.dataclass
class Box(Generic[T]):
    """A box."""

    first: T
    many: Annotated[list[T], Field(description="Many")]


class Labelled(TypedDict, Generic[T]):
    content: Annotated[T, Field(description="Content")]


class Placed(NamedTuple):
    what: Inner
    where: int


Renamed = NewType("Renamed", Inner)
Many = TypeAliasType("Many", list[T], type_params=(T,))


@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        (Annotated[Box[int], "B"], ["it.first"]),
        (Annotated[Box[Inner], "B"], ["it.first", "it.first.bare", "it.many[].bare"]),
        (Annotated[Box[Speaking], "B"], []),
        (Annotated[list[Labelled[Inner]], "L"], ["it[].content.bare"]),
        (Annotated[Placed, "P"], ["it[].bare"]),
        (Annotated[Renamed, "R"], ["it.bare"]),
        (Annotated[Many[Inner], "M"], ["it[].bare"]),
        (int, ["it"]),
        (Inner, ["it", "it.bare"]),
        (Annotated[Inner, "An inner"], ["it.bare"]),
        (Annotated[list[Inner], "Many"], ["it[].bare"]),
        (Annotated[dict[str, Inner], "Many"], ["it.*.bare"]),
        (Annotated[Inner | int | None, "One"], ["it.bare"]),
        (Annotated[list[Inner | Speaking] | None, "Many"], ["it[].bare"]),
        (Annotated[dict[str, list[Inner]], "Many"], ["it.*[].bare"]),
        (Annotated[tuple[Inner, int], "Pair"], ["it[].bare"]),
        (Speaking, []),
        (Speaking | None, []),
        (Annotated[Mute, "M"], ["it.other"]),
        (Data, ["it.bare"]),
        (PydanticData, ["it.bare"]),
        (Annotated[Typed, "T"], ["it.bare", "it.right"]),
        (Annotated[Roots, "R"], ["it[].bare"]),
        (Annotated[RootModel[list[int]], "R"], []),
        (Annotated[Tree, "T"], ["it.bare"]),
        (Annotated[int, "A number"], []),
    ],
)
def test_t4_undescribed_properties_are_refused_with_their_paths(kind: Any, paths: list[str]) -> None:
    async def take(it: Any, also: Annotated[int, "Another"] = 0) -> None:
        """Take."""

    take.__annotations__["it"] = kind
    made = tool(take)
    if not paths:
        assert Registry([made]).names() == ("take",)
        return
    listed = f"The tool 'take' has properties without a description: {', '.join(paths)}. "
    with pytest.raises(RegistrationError) as caught:
        Registry([made])
    assert listed in str(caught.value)
    with pytest.warns(UserWarning, match="without a description") as warned:
        assert Registry([made], strict=False).names() == ("take",)
    assert [str(warning.message).startswith(listed) for warning in warned] == [True]


def test_t4_a_flattened_model_is_looked_into() -> None:
    @tool
    async def take(it: Inner) -> None:
        """Take."""

    with pytest.raises(RegistrationError, match=r"without a description: bare\."):
        Registry([take])


def test_t4_strictness_can_be_given_per_registration() -> None:
    async def take(it: int) -> None:
        """Take."""

    registry = Registry()
    with pytest.warns(UserWarning, match="without a description: it"):
        registry.register(tool(take), strict=False)
    with pytest.raises(RegistrationError):
        Registry(strict=False).register(tool(take), strict=True)
    assert registry.names() == ("take",)


async def test_t5_call_takes_data_and_call_json_takes_text_or_bytes() -> None:
    registry = Registry([named("a")])
    assert await registry.call("a", {"a": 2}) == 2
    assert await registry.call("a") == 0
    assert await registry.call_json("a", '{"a": 2}') == b"2"
    assert await registry.call_json("a", b'{"a": 2}') == b"2"


def test_g1_dialects_of_a_registry_are_a_list() -> None:
    with pytest.raises(RegistrationError, match="dialects is the string 'openai'; it must be a list of strings"):
        Registry(dialects="openai")
