"""Documents that a tool keeps for its user, over every store (K4)."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from callboard import DocumentChanged, Outcome, Registry, RetryPolicy, Runtime, Session, ToolContext, ToolError, tool
from callboard.sessions import stored_documents
from callboard.sessions.stored_documents import MAX_DOCUMENTS, MAX_VALUE_BYTES
from callboard.storage.errors import StoreUnavailable
from callboard.testing import Harness

pytestmark = pytest.mark.anyio


@tool(idempotent=True)
async def use(ctx: ToolContext, method: str, arguments: dict[str, Any]) -> Any:
    """Use the documents.

    Args:
        method: The name of the method.
        arguments: Its arguments.
    """
    result = await getattr(ctx.documents, method)(**{"collection": "c"} | arguments)
    return [(each.key, each.value, each.version) for each in result] if isinstance(result, list) else result


@tool
async def count_up(ctx: ToolContext) -> int:
    """Add one to a number, whatever other calls do meanwhile."""
    while True:
        known = await ctx.documents.get("numbers", "n")
        value, version = (0, 0) if known is None else (known.value, known.version)
        try:
            return (await ctx.documents.put("numbers", "n", value + 1, version=version)).value
        except DocumentChanged:
            continue


@pytest.fixture
async def runtime(store_url: str) -> AsyncGenerator[Runtime]:
    async with asyncio.timeout(60), Runtime([use, count_up], store=store_url) as runtime:
        yield runtime


async def call(session: Session, method: str, **arguments: Any) -> Any:
    outcome = await session.call("use", {"method": method, "arguments": arguments})
    assert outcome.error is None, outcome.error.message
    return outcome.value


async def refusal(session: Session, method: str, **arguments: Any) -> ToolError:
    outcome: Outcome = await session.call("use", {"method": method, "arguments": arguments})
    assert outcome.error is not None
    return outcome.error


async def test_k4_document_is_written_read_listed_and_deleted(runtime: Runtime) -> None:
    session = await runtime.open("a", "ann")
    assert await call(session, "get", key="k") is None
    value = {"b": [1, 2.5, None, True, "NUL \0 ä 😀"], "a": {}}
    written = await call(session, "put", key="k", value=value)
    assert (written["key"], written["value"], written["version"]) == ("k", value, 1)
    assert list(written["value"]) == ["b", "a"], "the order of keys is kept"
    assert await call(session, "get", key="k") == written
    again = await call(session, "put", key="k", value=None)
    assert (again["value"], again["version"]) == (None, 2)
    await call(session, "put", key="j", value=1)
    assert await call(session, "list") == [["j", 1, 1], ["k", None, 2]]
    assert await call(session, "list", prefix="k") == await call(session, "list", after="j") == [["k", None, 2]]
    assert await call(session, "list", limit=1) == [["j", 1, 1]]
    assert await call(session, "list", limit=-1) == []
    assert await call(session, "delete", key="k") is True
    assert await call(session, "delete", key="k") is False


async def test_k4_documents_belong_to_the_user_in_all_sessions(runtime: Runtime) -> None:
    first, second, bob = [await runtime.open(*each) for each in (("a", "ann"), ("b", "ann"), ("x", "bob"))]
    await call(first, "put", key="k", value="secret")
    assert (await call(second, "get", key="k"))["value"] == "secret"
    assert await call(bob, "get", key="k") is None
    assert await call(bob, "list") == []
    assert await call(bob, "delete", key="k") is False
    assert (await call(bob, "put", key="k", value="other", version=0))["version"] == 1
    assert (await call(first, "get", key="k"))["value"] == "secret"


async def test_k4_document_that_was_changed_meanwhile_is_not_written(runtime: Runtime) -> None:
    session = await runtime.open("a", "ann")
    error = await refusal(session, "put", key="k", value=1, version=3)
    assert "The document 'k' in 'c' no longer exists" in error.message
    await call(session, "put", key="k", value=1, version=0)
    assert "exists already" in (await refusal(session, "put", key="k", value=1, version=0)).message
    await call(session, "put", key="k", value=2, version=1)
    error = await refusal(session, "put", key="k", value=2, version=1)
    assert "its version is 2, and not 1. Nothing was written. Read it again." in error.message
    assert error.category == "execution"
    assert (await call(session, "get", key="k"))["version"] == 2


async def test_k4_call_repeats_its_own_write_and_another_call_does_not(runtime: Runtime) -> None:
    @tool
    async def twice(ctx: ToolContext) -> list[int]:
        """Write the same again, as after a lost confirmation."""
        return [(await ctx.documents.put("c", "k", "claimed", version=0)).version for _ in range(2)]

    runtime.registry.register(twice)
    session = await runtime.open("a", "ann")
    assert (await session.call("twice")).value == [1, 1]
    error = (await session.call("twice")).error
    assert error is not None
    assert "exists already" in error.message


async def test_k4_calls_at_once_lose_no_change(runtime: Runtime) -> None:
    sessions = [await runtime.open(f"s{number}", "ann") for number in range(4)]
    outcomes = await asyncio.gather(*(session.call("count_up") for session in sessions for _ in range(4)))
    assert sorted(outcome.value for outcome in outcomes) == list(range(1, 17))


@pytest.mark.parametrize(
    ("method", "arguments", "problem"),
    [
        ("put", {"collection": ""}, "collection must have 1 to 64 characters"),
        ("put", {"collection": "A"}, "collection must have"),
        ("get", {"collection": "a/b"}, "collection must have"),
        ("delete", {"collection": "a\n"}, "collection must have"),
        ("list", {"collection": "c" * 65}, "collection must have"),
        ("put", {"key": ""}, "key must have 1 to 200 printable characters"),
        ("put", {"key": "k" * 201}, "key must have"),
        ("get", {"key": "\0"}, "key must have"),
        ("get", {"key": "a\nb"}, "key must have"),
        ("delete", {"key": "\u200b"}, "key must have"),
        ("list", {"prefix": "\0"}, "prefix must have at most 200 printable characters"),
        ("list", {"after": "k" * 201}, "after must have"),
        ("put", {"version": -1}, "version is -1. Give that of a document"),
        ("put", {"version": 2**63}, "version is"),
        ("put", {"value": "x" * (MAX_VALUE_BYTES - 1)}, "value has 262,145 bytes as JSON; at most 262,144 are allowed"),
        ("put", {"value": json.loads("[" * 180 + "]" * 180)}, None),
    ],
)
async def test_k4_names_and_values_that_cannot_be_stored_are_refused(
    method: str, arguments: dict[str, Any], problem: str | None
) -> None:
    async with Harness(use) as harness:
        filled: dict[str, Any] = {"put": {"key": "k", "value": 1}, "list": {}}.get(method, {"key": "k"})
        if problem is None:
            await call(harness.session, method, **filled | arguments)
            return
        error = await refusal(harness.session, method, **filled | arguments)
        assert error.category == "validation"
        assert error.message.startswith(problem)
        assert await call(harness.session, "list") == []


def circular() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (float("nan"), "a number that is not finite"),
        ([float("-inf")], "a number that is not finite"),
        ("a\ud800", "a lone surrogate"),
        (object(), "a value that is not JSON data"),
        (circular(), "or itself"),
        (10**5_000, "more than 4,300 digits"),
        ({"1": 1, 1: 2}, "the same key twice"),
        (nested(191), "more than 190 levels"),
        (nested(100_000), "or itself"),
    ],
    ids=["nan", "infinity", "surrogate", "object", "circular", "digits", "keys", "levels", "many levels"],
)
async def test_k4_values_that_are_not_json_are_refused(value: Any, problem: str) -> None:
    @tool
    async def keep(ctx: ToolContext) -> None:
        """Keep a value."""
        await ctx.documents.put("c", "k", value)

    async with Harness(keep, use) as harness:
        error = (await harness.session.call("keep")).error
        assert error is not None
        assert (error.category, error.message.startswith("value ")) == ("validation", True)
        assert problem in error.message
        assert await call(harness.session, "list") == []


async def test_k4_longest_names_and_the_largest_value_are_stored(runtime: Runtime) -> None:
    session = await runtime.open("a", "ann")
    place = {"collection": "a0_.-" * 12 + "abcd", "key": "\U0001f511" * 200}
    await call(session, "put", **place, value="x" * (MAX_VALUE_BYTES - 2))
    assert len((await call(session, "get", **place))["value"]) == MAX_VALUE_BYTES - 2
    assert len(await call(session, "list", collection=place["collection"], prefix=place["key"])) == 1


async def test_k4_collection_that_is_full_says_so(monkeypatch: pytest.MonkeyPatch, runtime: Runtime) -> None:
    assert MAX_DOCUMENTS == 10_000
    monkeypatch.setattr(stored_documents, "MAX_DOCUMENTS", 2)
    monkeypatch.setattr(stored_documents, "MAX_COLLECTION_BYTES", 10)
    session = await runtime.open("a", "ann")
    await call(session, "put", key="a", value=1)
    error = await refusal(session, "put", key="b", value="x" * 8)
    assert (error.category, "at most 10 are allowed. Delete documents first." in error.message) == ("resource", True)
    await call(session, "put", key="b", value=2)
    error = await refusal(session, "put", key="d", value=3)
    assert (error.category, "has 2 documents, which is the largest number" in error.message) == ("resource", True)
    await call(session, "put", key="a", value=4)
    assert await call(session, "delete", key="b")
    await call(session, "put", key="d", value=3)


async def test_k4_outside_of_a_session_there_are_no_documents() -> None:
    with pytest.raises(ToolError, match="within a session") as caught:
        await Registry([use]).call("use", {"method": "get", "arguments": {"key": "k"}})
    assert caught.value.category == "configuration"


async def test_k4_store_that_does_not_answer_is_a_transient_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("The SQLite file /secret/path cannot grow.")

    async with Harness(use, retry=RetryPolicy(max_attempts=1)) as harness:
        for name in ("put_document", "document", "documents", "delete_document"):
            monkeypatch.setattr(harness.runtime.store, name, fail)
        for method, arguments in (("put", {"value": 1}), ("get", {}), ("list", {}), ("delete", {})):
            named: dict[str, Any] = {} if method == "list" else {"key": "k"}
            error = await refusal(harness.session, method, **named, **arguments)
            assert (error.category, "secret" in error.message) == ("transient", False)


async def test_k4_documents_outlive_the_process_and_the_session(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'callboard.db'}"
    async with Runtime([use], store=url) as runtime:
        session = await runtime.open("a", "ann")
        await call(session, "put", key="k", value="still here")
        assert await runtime.store.delete("a")
    async with Runtime([use], store=url) as runtime:
        found = await call(await runtime.open("b", "ann"), "get", key="k")
        assert (found["value"], found["version"]) == ("still here", 1)


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("get", {"collection": 5, "key": "a"}, "collection must have 1 to 64 characters"),
        ("get", {"key": 5}, "key must have 1 to 200 printable characters"),
        ("put", {"key": "a", "value": 1, "version": "1"}, "version is '1'. Give that of a document"),
        ("put", {"key": "a", "value": 1, "version": True}, "version is True. Give that of a document"),
        ("list", {"prefix": 5}, "prefix must have at most 200 printable characters"),
        ("list", {"after": 5}, "after must have at most 200 printable characters"),
        ("list", {"limit": "5"}, "limit is '5'; it must be a whole number"),
    ],
)
async def test_k4_values_of_wrong_types_are_named(method: str, arguments: dict[str, Any], message: str) -> None:
    async with Harness(use) as harness:
        outcome = await harness.session.call("use", {"method": method, "arguments": arguments})
        assert outcome.error is not None
        assert (outcome.error.category, message in outcome.error.message) == ("validation", True)
