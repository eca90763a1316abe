"""Transforms show the tools of a toolset differently, compose by wrapping, and change nothing inside (T8)."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Self

import pytest

from callboard import LocalToolset, RegistrationError, Registry, Tool, Toolset, tool
from callboard.tools.transforms import (
    TransformedToolset,
    allowed,
    approval_required,
    filtered,
    namespaced,
    prefixed,
    renamed,
    truncated,
)
from callboard.types import Mode

pytestmark = pytest.mark.anyio


@tool(tags=("read",))
async def look(at: Annotated[str, "What"]) -> str:
    """Look."""
    return f"looked at {at}"


@tool(tags=("write",), result_limit=50)
async def change(what: Annotated[str, "What"]) -> str:
    """Change."""
    return f"changed {what}"


class Remote:
    """A second, trivial implementation of the port: its tools are there while it is entered, and may change."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.source = list(tools)
        self.entered = False
        self.callback: Callable[[], Any] = lambda: None
        self.left_with: BaseException | None = None

    async def __aenter__(self) -> Self:
        self.entered = True
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.entered, self.left_with = False, error

    def tools(self) -> Sequence[Tool]:
        return self.source if self.entered else []

    def on_change(self, callback: Callable[[], Any]) -> None:
        self.callback = callback


def names(toolset: Toolset) -> list[str]:
    return [each.name for each in toolset.tools()]


@pytest.fixture
def local() -> LocalToolset:
    return LocalToolset([look, change])


def test_t8_both_implementations_and_every_transform_are_toolsets(local: LocalToolset) -> None:
    for each in (local, Remote([]), prefixed(local, "x_"), filtered(Remote([]), bool)):
        assert isinstance(each, Toolset)
    assert not isinstance(look, Toolset)


def test_t8_filtered(local: LocalToolset) -> None:
    assert names(filtered(local, lambda each: "read" in each.tags)) == ["look"]


def test_t8_allowed(local: LocalToolset) -> None:
    assert names(allowed(local, ["change", "unknown"])) == ["change"]
    assert names(allowed(local, [])) == []


async def test_t8_prefixed(local: LocalToolset) -> None:
    shown = prefixed(local, "git_")
    assert names(shown) == ["git_look", "git_change"]
    assert shown.tools()[0].schema("claude")["name"] == "git_look"
    registry = Registry([shown, local])
    assert await registry.call("git_look", {"at": "x"}) == await registry.call("look", {"at": "x"}) == "looked at x"


def test_t8_a_prefix_that_makes_a_bad_name_is_refused(local: LocalToolset) -> None:
    with pytest.raises(RegistrationError, match="cannot be the name"):
        prefixed(local, "a b ").tools()


def test_t8_renamed(local: LocalToolset) -> None:
    assert names(renamed(local, {"look": "see", "unknown": "x"})) == ["see", "change"]


def test_g1_two_tools_of_a_toolset_with_one_name_are_refused(local: LocalToolset) -> None:
    with pytest.raises(RegistrationError, match="two tools with the name 'change'"):
        Registry([renamed(local, {"look": "change"})])
    registry = Registry()
    with pytest.raises(RegistrationError):
        registry.include(LocalToolset([change, look, look.with_(name="change"), look]))
    assert registry.names() == ("change", "look")
    assert registry["change"] is change


def test_t8_namespaced(local: LocalToolset) -> None:
    assert [each.namespace for each in namespaced(local, "files").tools()] == ["files", "files"]


def test_t8_approval_required(local: LocalToolset) -> None:
    assert [each.mode for each in approval_required(local).tools()] == [Mode.HUMAN, Mode.HUMAN]
    some = approval_required(local, lambda each: "write" in each.tags)
    assert [each.mode for each in some.tools()] == [Mode.INLINE, Mode.HUMAN]


def test_t8_truncated_never_widens_a_limit(local: LocalToolset) -> None:
    assert [each.result_limit for each in truncated(local, 100).tools()] == [100, 50]
    assert [each.result_limit for each in truncated(local, 10).tools()] == [10, 10]


async def test_t8_transforms_compose_and_the_tools_inside_are_unchanged(local: LocalToolset) -> None:
    before = [(each.name, each.namespace, each.mode, each.result_limit, each.schema("mcp")) for each in local.tools()]
    shown = truncated(
        approval_required(
            prefixed(renamed(filtered(local, lambda each: each.name != "look"), {"change": "edit"}), "repo_"),
            lambda each: each.name == "repo_edit",
        ),
        5,
    )
    (made,) = shown.tools()
    assert (made.name, made.mode, made.result_limit) == ("repo_edit", Mode.HUMAN, 5)
    assert made.input_schema == change.input_schema
    after = [(each.name, each.namespace, each.mode, each.result_limit, each.schema("mcp")) for each in local.tools()]
    assert after == before
    assert list(local.tools()) == [look, change]


async def test_t8_a_transform_enters_leaves_and_follows_its_inner_toolset() -> None:
    remote = Remote([look])
    shown = prefixed(namespaced(remote, "remote"), "r_")
    assert names(shown) == []
    received: list[int] = []
    async with shown as entered:
        assert entered is shown
        assert remote.entered
        assert names(shown) == ["r_look"]
        shown.on_change(lambda: received.append(1))
        remote.source.append(change)
        remote.callback()
        assert received == [1]
        assert names(shown) == ["r_look", "r_change"]
    assert not remote.entered


async def test_t8_a_transform_passes_an_error_to_the_inner_toolset() -> None:
    remote = Remote([look])
    with pytest.raises(RuntimeError, match="in the block"):
        async with allowed(remote, ["look"]):
            raise RuntimeError("in the block")
    assert str(remote.left_with) == "in the block"


async def test_t8_an_inner_toolset_may_suppress_an_error() -> None:
    class Forgiving(Remote):
        async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:  # type: ignore[override]
            return True

    async with TransformedToolset(Forgiving([]), lambda each: each):
        raise RuntimeError("forgiven")


async def test_t8_a_registry_takes_a_remote_toolset_while_it_is_entered() -> None:
    async with Remote([look]) as remote:
        registry = Registry([prefixed(remote, "r_")])
    assert registry.names() == ("r_look",)
    assert await registry.call("r_look", {"at": "x"}) == "looked at x"


async def test_t8_a_local_toolset_is_always_complete(local: LocalToolset) -> None:
    local.on_change(lambda: None)
    async with local as entered:
        assert entered is local
        assert names(local) == ["look", "change"]
    assert names(local) == ["look", "change"]


class Changing:
    """A toolset whose tools are known only while it is entered, and change."""

    def __init__(self) -> None:
        self.entered = False
        self.known: list[Tool] = []
        self.changed: Callable[[], Any] = lambda: None

    async def __aenter__(self) -> "Changing":
        self.entered = True
        self.known = [make("far")]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.entered = False

    def tools(self) -> list[Tool]:
        return self.known

    def on_change(self, callback: Callable[[], Any]) -> None:
        self.changed = callback


def make(name: str) -> Tool:
    async def far() -> str:
        """Answer from far away."""
        return name

    return tool(name=name)(far)


async def test_t8_an_included_toolset_is_entered_with_the_registry_and_followed() -> None:
    remote = Changing()
    registry = Registry([prefixed(remote, "r_")])
    assert registry.names() == ()
    async with registry:
        assert remote.entered
        assert await registry.call("r_far") == "far"
        remote.known = [make("near")]
        remote.changed()
        assert registry.names() == ("r_near",)
        assert await registry.call("r_near") == "near"
    assert not remote.entered


async def test_t8_toolsets_are_entered_at_the_same_time_and_registered_in_order() -> None:
    begun = asyncio.Event()

    class Slow(Remote):
        async def __aenter__(self) -> Self:
            await begun.wait()
            return await super().__aenter__()

    class Quick(Remote):
        async def __aenter__(self) -> Self:
            await super().__aenter__()
            begun.set()
            self.callback()
            return self

    async with asyncio.timeout(90), Registry([Slow([look]), Quick([change])]) as registry:
        assert registry.names() == ("look", "change")


async def test_t8_the_error_of_a_toolset_ends_the_others() -> None:
    left = asyncio.Event()

    class Endless(Remote):
        async def __aenter__(self) -> Self:
            try:
                await asyncio.Event().wait()
            finally:
                left.set()
            raise AssertionError

    class Broken(Remote):
        async def __aenter__(self) -> Self:
            raise RuntimeError("broken")

    entered = Remote([look])
    registry = Registry([Endless([]), Broken([]), entered])
    with pytest.raises(RuntimeError, match="broken"):
        async with asyncio.timeout(90):
            await registry.__aenter__()
    assert left.is_set()
    assert not entered.entered


async def test_t8_a_name_that_is_taken_leaves_out_only_that_tool(caplog: pytest.LogCaptureFixture) -> None:
    first, second = Remote([look]), Remote([make("look"), change])
    async with Registry([first, second]) as registry:
        assert registry.names() == ("look", "change")
        assert registry["look"] is look
        assert "already registered" in caplog.text
        second.source = [make("look")]
        with pytest.raises(RegistrationError):
            second.callback()
        assert registry.names() == ("look",)
        first.source = []
        first.callback()
        second.callback()
        assert registry.names() == ("look",)
        assert registry["look"] is second.source[0]


def test_t8_what_is_no_toolset_is_refused_where_it_is_given(local: LocalToolset) -> None:
    async def function() -> None:
        """Do nothing."""

    wrong: Any = [function]
    with pytest.raises(RegistrationError, match="it must be a list of tools, which @tool makes"):
        LocalToolset(wrong)
    with pytest.raises(RegistrationError, match=r"A transform takes a toolset, such as LocalToolset.*, not list"):
        prefixed(wrong, "w_")
    with pytest.raises(RegistrationError, match="names is the string 'look'; it must be a list of strings"):
        allowed(local, "look")
