"""Tools that hold something: entered before the first call, by one task that also leaves them (T1)."""

import asyncio
from typing import Annotated, Any, Self

import anyio
import pytest

from callboard import RegistrationError, Registry, Tool, ToolContext, ToolError, tool

pytestmark = pytest.mark.anyio


class Held:
    """The record of what happened to the tools below, by name."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.tasks: dict[str, list[Any]] = {}

    def note(self, name: str, what: str) -> None:
        self.events.append(f"{name} {what}")
        self.tasks.setdefault(name, []).append(asyncio.current_task())


@tool
class Client:
    """Ask a server."""

    def __init__(self, held: Held, name: str = "client", *, failures: int = 0, fails_on_exit: bool = False) -> None:
        self.held, self.name, self.failures, self.fails_on_exit = held, name, failures, fails_on_exit

    async def __aenter__(self) -> Self:
        await anyio.lowlevel.checkpoint()
        if self.failures:
            self.failures -= 1
            raise ConnectionError("password=hunter2 at /etc/secret")
        self.held.note(self.name, "entered")
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.held.note(self.name, "leaving")
        await anyio.lowlevel.checkpoint()
        self.held.note(self.name, "left")
        if self.fails_on_exit:
            raise RuntimeError("cannot leave")

    async def __call__(self, ctx: ToolContext, path: Annotated[str, "Which page"]) -> str:
        self.held.note(self.name, "called")
        return f"{ctx.tool} {path}"


async def test_t1_a_class_based_tool_is_entered_once_before_the_first_call_and_left_at_the_end() -> None:
    held = Held()
    made = Client(held)
    assert isinstance(made, Tool)
    assert (made.name, made.description) == ("client", "Ask a server.")
    assert list(made.input_schema["properties"]) == ["path"]
    async with Registry([made]) as registry:
        assert held.events == []
        assert await registry.call("client", {"path": "/"}) == "client /"
        assert held.events == ["client entered", "client called"]
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(registry.call, "client", {"path": "/"})
    assert held.events == ["client entered", *["client called"] * 4, "client leaving", "client left"]


async def test_t1_concurrent_first_calls_enter_once() -> None:
    held = Held()
    async with Registry([Client(held)]) as registry, anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(registry.call, "client", {"path": "/"})
    assert held.events.count("client entered") == 1
    assert held.events.count("client called") == 5


async def test_t1_the_task_that_enters_is_the_task_that_leaves() -> None:
    held = Held()
    async with Registry([Client(held)]) as registry:
        await registry.call("client", {"path": "/"})
    entered, called, leaving, left = held.tasks["client"]
    assert entered is leaving is left
    assert called is not entered
    assert called is asyncio.current_task()


async def test_t1_a_cancel_scope_held_open_by_a_tool_is_left_properly() -> None:
    @tool
    class Grouped:
        """Hold a task group."""

        async def __aenter__(self) -> Self:
            self.group = await anyio.create_task_group().__aenter__()
            return self

        async def __aexit__(self, *exc: object) -> None:
            self.group.cancel_scope.cancel()
            await self.group.__aexit__(None, None, None)

        async def __call__(self) -> str:
            self.group.start_soon(anyio.sleep_forever)
            return "started"

    async with Registry([Grouped()]) as registry, anyio.create_task_group() as group:
        group.start_soon(registry.call, "grouped")


async def test_t1_an_unused_tool_is_never_entered() -> None:
    held = Held()
    async with Registry([Client(held)]):
        pass
    assert held.events == []


async def test_t1_a_failed_entry_is_a_configuration_error_and_may_be_tried_again() -> None:
    held = Held()
    async with Registry([Client(held, failures=1)]) as registry:
        with pytest.raises(ToolError) as caught:
            await registry.call("client", {"path": "/"})
        assert caught.value.category == "configuration"
        assert caught.value.message == "The tool client could not be started."
        assert "hunter2" in (caught.value.report or "")
        assert "hunter2" not in str(caught.value.to_model())
        assert await registry.call("client", {"path": "/"}) == "client /"
    assert held.events == ["client entered", "client called", "client leaving", "client left"]
    assert registry.stats("client").failures == {"configuration": 1}


async def test_t1_a_call_outside_of_the_registry_is_a_configuration_error() -> None:
    registry = Registry([Client(Held())])
    for _ in range(2):
        with pytest.raises(ToolError, match="is not started") as caught:
            await registry.call("client", {"path": "/"})
        assert caught.value.category == "configuration"
        assert "async with" in (caught.value.report or "")
        assert "async with" not in caught.value.message
        async with registry:  # it can be entered and left more than once
            assert await registry.call("client", {"path": "/"}) == "client /"


async def test_t1_a_tool_registered_later_works() -> None:
    held = Held()
    async with Registry() as registry:
        registry.register(Client(held))
        assert await registry.call("client", {"path": "/"}) == "client /"
    assert held.events[-1] == "client left"


async def test_t1_two_tools_are_both_left_before_the_registry_is() -> None:
    held = Held()
    first, second = Client(held, "first"), Client(held, "second").with_(name="second")
    async with Registry([first, second]) as registry:
        await registry.call("second", {"path": "/"})
        await registry.call("client", {"path": "/"})
    assert [event for event in held.events if "entered" in event] == ["second entered", "first entered"]
    assert [event for event in held.events if "leaving" in event] == ["second leaving", "first leaving"]
    assert held.events[-2:] == ["second left", "first left"]


async def test_t1_a_tool_that_cannot_be_left_does_not_keep_another_from_cleaning_up() -> None:
    held = Held()
    bad, good = Client(held, "bad", fails_on_exit=True), Client(held, "good").with_(name="good")
    registry = Registry([bad, good])
    await registry.__aenter__()
    await registry.call("client", {"path": "/"})
    await registry.call("good", {"path": "/"})
    with pytest.raises(ExceptionGroup) as caught:
        await registry.__aexit__(None, None, None)
    assert [str(error) for error in caught.value.exceptions] == ["cannot leave"]
    assert "good left" in held.events


async def test_t1_an_error_in_the_block_comes_out_as_it_is_and_tools_clean_up() -> None:
    held = Held()

    async def block() -> None:
        async with Registry([Client(held)]) as registry:
            await registry.call("client", {"path": "/"})
            await registry.call("client", {})

    with pytest.raises(ToolError) as caught:
        await block()
    assert caught.value.category == "validation"
    assert held.events[-1] == "client left"


async def test_t1_tools_clean_up_when_the_block_is_cancelled() -> None:
    held = Held()
    with anyio.CancelScope() as scope:
        async with Registry([Client(held)]) as registry:
            await registry.call("client", {"path": "/"})
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert held.events[-1] == "client left"


async def test_t1_a_caller_that_gives_up_while_a_tool_is_entered_leaves_it_to_the_next_one() -> None:
    reached, go = anyio.Event(), anyio.Event()

    @tool
    class Slow:
        """Start slowly."""

        entered = 0

        async def __aenter__(self) -> Self:
            reached.set()
            await go.wait()
            self.entered += 1
            return self

        async def __aexit__(self, *exc: object) -> None: ...

        async def __call__(self) -> int:
            return self.entered

    async with Registry([Slow()]) as registry:
        async with anyio.create_task_group() as group:
            group.start_soon(registry.call, "slow")
            await reached.wait()
            group.cancel_scope.cancel()
        go.set()
        assert await registry.call("slow") == 1


async def test_t1_entering_a_registry_twice_is_refused() -> None:
    async with Registry() as registry:
        with pytest.raises(RuntimeError, match="already entered"):
            await registry.__aenter__()


async def test_t1_a_class_without_a_lifetime_needs_no_entering() -> None:
    @tool(name="twice", namespace="maths", description="Multiply.")
    class Multiplier:
        def __init__(self, by: int) -> None:
            self.by = by

        def __call__(self, number: Annotated[int, "A number"]) -> int:
            return self.by * number

    made = Multiplier(by=2)
    assert (made.name, made.namespace, made.description, made.lifetime) == ("twice", "maths", "Multiply.", None)
    assert await Registry([made]).call("twice", {"number": 4}) == 8


@pytest.mark.parametrize(
    ("methods", "named"),
    [
        (("__enter__", "__exit__"), "__enter__"),
        (("__aenter__",), "__aenter__"),
        (("__aexit__",), "__aexit__"),
        (("__enter__", "__exit__", "__aenter__"), "__aenter__"),
    ],
)
def test_t1_refuses_a_lifetime_that_could_not_be_entered_and_left(methods: tuple[str, ...], named: str) -> None:
    async def method(self: Any, *_: Any) -> None:
        """Do something."""

    with pytest.raises(RegistrationError, match=f"class Held has {named}.* write both `async def __aenter__"):
        tool(type("Held", (), dict.fromkeys(("__call__", *methods), method)))


async def test_t1_a_class_with_both_kinds_of_lifetime_is_entered_as_the_async_one() -> None:
    @tool
    class Both:
        """Hold something."""

        def __enter__(self) -> Self:
            raise AssertionError("the lifetime of a tool is async")

        def __exit__(self, *exc: object) -> None: ...

        async def __aenter__(self) -> Self:
            self.entered = True
            return self

        async def __aexit__(self, *exc: object) -> None: ...

        async def __call__(self) -> bool:
            return self.entered

    async with Registry([Both()]) as registry:
        assert await registry.call("both") is True


async def test_t1_every_instance_is_a_tool_of_its_own() -> None:
    @tool
    class Add:
        """Add."""

        def __init__(self, by: int) -> None:
            self.by = by

        async def __call__(self, number: Annotated[int, "A number"]) -> int:
            return self.by + number

    registry = Registry([Add(1), Add(2).with_(name="add_two")])
    assert await registry.call("add", {"number": 1}) == 2
    assert await registry.call("add_two", {"number": 1}) == 3


def test_t1_a_class_that_was_not_instantiated_is_refused() -> None:
    with pytest.raises(RegistrationError):
        Registry([Client])
