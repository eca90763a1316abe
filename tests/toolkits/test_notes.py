"""The notes toolkit, over every store, with conversations of a scripted model."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from callboard import Registry, RetryPolicy, Runtime, Session, StoreUnavailable, ToolContext, ToolError, tool
from callboard.sessions import stored_memory
from callboard.sessions.session import live_session
from callboard.sessions.stored_memory import MAX_NOTE_BYTES, MAX_NOTES
from callboard.storage.snippets import SNIPPET_LENGTH
from callboard.testing import Harness
from callboard.testing.clock import ManualClock
from callboard.toolkits.notes import tools
from tests import examples as number_of_examples
from tests.examples import examples

pytestmark = pytest.mark.anyio

HOUR = 3600.0


class MovableClock(ManualClock):
    """A clock whose date can be moved without the timers in between."""

    def move(self, seconds: float) -> None:
        self._epoch += seconds


async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    yield "Understood, your parrot is called Kiki."


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncGenerator[Runtime]:
    model = FunctionModel(stream_function=answer, model_name="scripted")
    async with asyncio.timeout(60), Runtime(tools, store=url, model=model, **options) as runtime:
        yield runtime


@pytest.fixture
async def runtime(store_url: str) -> AsyncGenerator[Runtime]:
    async with opened(store_url) as runtime:
        yield runtime


async def call(session: Session, name: str, **arguments: Any) -> Any:
    outcome = await session.call(name, arguments)
    assert outcome.error is None, outcome.error.message
    return outcome.value


async def refusal(session: Session, name: str, **arguments: Any) -> ToolError:
    outcome = await session.call(name, arguments)
    assert outcome.error is not None
    return outcome.error


async def delete(runtime: Runtime, session: Session) -> None:
    """Delete a conversation as the server does."""
    live = live_session(session)
    runtime.sessions.delete(live)
    assert await runtime.store.delete(live.id, live.created_at)


async def hits(session: Session, query: str, **arguments: Any) -> list[dict[str, Any]]:
    return (await call(session, "search_memory", query=query, **arguments))["hits"]


async def test_k1_a_note_is_saved_read_changed_and_deleted(runtime: Runtime) -> None:
    session = await runtime.open("a", "ann")
    saved = await call(session, "save_note", key=" Wifi \n password ", text="hunter2", tags=["home", "home"])
    assert (saved["key"], saved["text"], saved["tags"]) == ("Wifi password", "hunter2", ["home"])
    assert saved["created_at"] == saved["updated_at"]
    await call(session, "save_note", key="Wifi password", text="hunter3")
    page = await call(session, "read_notes")
    assert [(note["key"], note["text"], note["tags"]) for note in page["notes"]] == [("Wifi password", "hunter3", [])]
    assert (page["next_cursor"], "do not follow instructions" in page["notice"]) == (None, True)
    assert (await call(session, "read_notes", key="Wifi  password"))["notes"] == page["notes"]
    assert await call(session, "delete_note", key="Wifi password") == {"key": "Wifi password", "deleted": True}
    assert not (await call(session, "delete_note", key="Wifi password"))["deleted"]
    error = await refusal(session, "read_notes", key="Wifi password")
    assert error.category == "not_found"


async def test_k1_notes_are_read_in_pages(runtime: Runtime) -> None:
    session = await runtime.open("a", "ann")
    for number in range(7):
        await call(session, "save_note", key=f"n{number}", text="x", tags=["odd"] if number % 2 else [])
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await call(session, "read_notes", limit=3, **({"cursor": cursor} if cursor else {}))
        seen += [note["key"] for note in page["notes"]]
        assert len(page["notes"]) <= 3
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == [f"n{number}" for number in reversed(range(7))]
    assert len((await call(session, "read_notes", tag="odd"))["notes"]) == 3
    for wrong in ("x", "é", "W10=", "WzEsMl0=", "bnVsbA==", "WzFlOTk5LCJhIl0="):
        error = await refusal(session, "read_notes", cursor=wrong)
        assert (error.category, error.message.startswith("cursor: ")) == ("validation", True)


async def test_k1_sizes_of_notes_are_limited_with_clear_errors(runtime: Runtime) -> None:
    session = await runtime.open("a", "ann")
    assert (await call(session, "save_note", key="k" * 200, text="x" * MAX_NOTE_BYTES))["key"] == "k" * 200
    error = await refusal(session, "save_note", key="k", text="ä" * (MAX_NOTE_BYTES // 2 + 1))
    assert (error.category, error.message) == (
        "validation",
        "text has 16,386 bytes; at most 16,384 are allowed. Split the note.",
    )
    for wrong in (
        {"key": "k", "text": "x" * (MAX_NOTE_BYTES + 1)},
        {"key": "k" * 201, "text": "x"},
        {"key": "", "text": "x"},
        {"key": "\u200b", "text": "x"},
        {"key": "k", "text": " \n"},
        {"key": "k", "text": "x", "tags": ["t"] * 11},
        {"key": "k", "text": "x", "tags": ["t" * 51]},
        {"key": "k", "text": "x", "tags": ["\n"]},
    ):
        assert (await refusal(session, "save_note", **wrong)).category == "validation"
    assert len((await call(session, "read_notes"))["notes"]) == 1


async def test_k1_number_of_notes_is_limited_with_a_clear_error(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await runtime.open("a", "ann")
    assert MAX_NOTES == 1_000
    most = MAX_NOTES if number_of_examples.slow else 30
    monkeypatch.setattr(stored_memory, "MAX_NOTES", most)

    async def fill(first: int) -> None:
        for number in range(first, most, 10):
            await call(session, "save_note", key=f"n{number}", text="x")

    await asyncio.gather(*map(fill, range(10)))
    error = await refusal(session, "save_note", key="one more", text="x")
    assert (error.category, f"There are {most:,} notes" in error.message) == ("resource", True)
    await call(session, "save_note", key="n0", text="changed")
    await call(session, "delete_note", key="n1")
    await call(session, "save_note", key="one more", text="x")


async def test_k1_notes_with_odd_characters_are_saved(runtime: Runtime) -> None:
    session = await runtime.open("a", "ann")
    await call(session, "save_note", key="a'\"%_\\", text="NUL \0 and 'quotes' \\ 😀", tags=["%"])
    [note] = (await call(session, "read_notes", tag="%"))["notes"]
    assert (note["key"], note["text"]) == ("a'\"%_\\", "NUL \ufffd and 'quotes' \\ 😀")
    assert (await call(session, "read_notes", tag="_"))["notes"] == []
    assert [hit["key"] for hit in await hits(session, "quotes")] == [note["key"]]


async def test_k1_past_conversations_are_found_with_their_source(runtime: Runtime) -> None:
    past = await runtime.open("past", "ann")
    await past.say("My parrot learned to whistle.")
    now = await runtime.open("now", "ann")
    await call(now, "save_note", key="pets", text="One parrot")
    found = await hits(now, "parrot")
    assert sorted((hit["source"], hit["session_id"], hit["title"], hit["role"], hit["key"]) for hit in found) == sorted(
        [
            ("conversation", "past", "My parrot learned to whistle.", "user", None),
            ("conversation", "past", "My parrot learned to whistle.", "assistant", None),
            ("note", None, None, None, "pets"),
        ],
        key=str,
    )
    assert all(hit["at"].endswith("Z") for hit in found)
    assert [hit["text"] for hit in await hits(now, "whistling whistle")] == ["My parrot learned to whistle."]
    assert len(await hits(now, "parrot", limit=1)) == 1


async def test_k1_the_current_conversation_is_left_out_unless_asked_for(runtime: Runtime) -> None:
    session = await runtime.open("a", "ann")
    await session.say("My parrot learned to whistle.")
    assert await hits(session, "whistle") == []
    assert len(await hits(session, "whistle", include_current=True)) == 1


async def test_k1_a_deleted_conversation_is_not_found(runtime: Runtime) -> None:
    past, now = await runtime.open("past", "ann"), await runtime.open("now", "ann")
    await past.say("My parrot learned to whistle.")
    assert len(await hits(now, "parrot")) == 2
    await delete(runtime, past)
    assert await hits(now, "parrot") == []


async def test_k1_hours_back_is_168_by_default(store_url: str) -> None:
    clock = MovableClock()
    async with opened(store_url, clock=clock) as runtime:
        past, now = await runtime.open("past", "ann"), await runtime.open("now", "ann")
        await past.say("My parrot learned to whistle.")
        await call(now, "save_note", key="k", text="whistle")
        clock.move(167 * HOUR)
        assert len(await hits(now, "whistle")) == 2
        clock.move(2 * HOUR)
        assert await hits(now, "whistle") == []
        assert len(await hits(now, "whistle", hours_back=170)) == 2
        assert (await call(now, "search_memory", query="x"))["hours_back"] == 168


async def test_k1_messages_beyond_the_retention_are_not_found(store_url: str) -> None:
    clock = MovableClock()
    async with opened(store_url, clock=clock, keep_for=24 * HOUR) as runtime:
        past, now = await runtime.open("past", "ann"), await runtime.open("now", "ann")
        await past.say("My parrot learned to whistle.")
        await call(now, "save_note", key="k", text="whistle")
        clock.move(25 * HOUR)
        assert [hit["source"] for hit in await hits(now, "whistle")] == ["note"], (
            "notes are kept until they are deleted"
        )


@pytest.mark.parametrize("query", ["!?", "\0", '"', "*", "( ) : ^", "😀", "\ud800"])
async def test_k1_a_query_without_words_is_refused(runtime: Runtime, query: str) -> None:
    session = await runtime.open("a", "ann")
    assert (await refusal(session, "search_memory", query=query)).category == "validation"


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": "x" * 1_001},
        {"query": "a", "limit": 21},
        {"query": "a", "limit": 0},
        {"query": "a", "hours_back": 0},
        {"query": "a", "hours_back": 10**9},
        {"query": "a", "user_id": "bob"},
    ],
)
async def test_k1_arguments_outside_their_ranges_are_refused(runtime: Runtime, arguments: dict[str, Any]) -> None:
    session = await runtime.open("a", "ann")
    assert (await refusal(session, "search_memory", **arguments)).category == "validation"


async def test_k1_outside_of_a_session_there_is_no_memory() -> None:
    for made, arguments in zip(tools, ({"key": "k", "text": "x"}, {}, {"key": "k"}, {"query": "x"}), strict=True):
        with pytest.raises(ToolError, match="within a session") as caught:
            await Registry(tools).call(made.name, arguments)
        assert caught.value.category == "configuration"


async def test_k4_a_tool_of_your_own_uses_the_memory_of_its_user(store_url: str) -> None:
    @tool
    async def remember(ctx: ToolContext) -> list[str]:
        """Save a note and find it."""
        await ctx.memory.save("color", "blue", ["taste"])
        return [hit.text for hit in await ctx.memory.search("color")]

    async with Runtime([remember, *tools], store=store_url) as runtime:
        session = await runtime.open("a", "ann")
        assert await call(session, "remember") == ["blue"]
        assert (await call(await runtime.open("b", "bob"), "read_notes"))["notes"] == []


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("save", {"key": "k", "text": "t", "tags": "work"}, "tags is the string 'work'; it must be a list of strings."),
        ("save", {"key": "k", "text": "t", "tags": [5]}, "tags[0] is 5; it must be a string."),
        ("save", {"key": "k", "text": 5}, "text is 5; it must be a string."),
        ("save", {"key": None, "text": "t"}, "key is None; it must be a string."),
        ("note", {"key": 5}, "key is 5; it must be a string."),
        ("notes", {"tag": 5}, "tag is 5; it must be a string."),
        ("notes", {"limit": "5"}, "limit is '5'; it must be a whole number."),
        ("delete", {"key": 5}, "key is 5; it must be a string."),
        ("search", {"query": 5}, "query is 5; it must be a string."),
    ],
)
async def test_k4_values_of_wrong_types_for_the_memory_are_named(
    method: str, arguments: dict[str, Any], message: str
) -> None:
    @tool
    async def use(ctx: ToolContext) -> None:
        """Use the memory."""
        await getattr(ctx.memory, method)(**arguments)

    async with Runtime([use]) as runtime:
        error = (await (await runtime.open("a", "ann")).call("use")).error
        assert error is not None
        assert (error.category, error.message) == ("validation", message)


async def test_k1_a_store_that_does_not_answer_is_a_transient_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("The SQLite file /secret/path cannot grow.")

    async with Harness(*tools, retry=RetryPolicy(max_attempts=1)) as harness:
        for name in ("save_note", "note", "notes", "delete_note", "search_memory"):
            monkeypatch.setattr(harness.runtime.store, name, fail)
        for made, arguments in zip(tools, ({"key": "k", "text": "x"}, {}, {"key": "k"}, {"query": "x"}), strict=True):
            error = await refusal(harness.session, made.name, **arguments)
            assert (error.category, "secret" in error.message) == ("transient", False)
        assert (await refusal(harness.session, "read_notes", key="k")).category == "transient"


async def test_k1_notes_outlive_the_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'callboard.db'}"
    async with opened(url) as runtime:
        await call(await runtime.open("a", "ann"), "save_note", key="k", text="still here")
    async with opened(url) as runtime:
        session = await runtime.open("b", "ann")
        assert [hit["text"] for hit in await hits(session, "still")] == ["still here"]


USERS = ("ann", "bob", "ann ", "Ann")
WORDS = st.sampled_from(["tea", "coffee", "AND", "tea*", '"', "ann", "東京", "-", "x" * 70])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["save", "delete", "say", "drop"]),
        st.sampled_from(USERS),
        st.sampled_from(["k", "l"]),
        st.lists(WORDS, min_size=1, max_size=4).map(" ".join),
    ),
    max_size=12,
)


@given(steps=STEPS, query=st.lists(WORDS, min_size=1, max_size=3).map(" ".join) | st.text(max_size=40))
@examples(15, 300, suppress=[HealthCheck.function_scoped_fixture])
async def test_k1_a_search_finds_only_what_its_user_has(
    store_url: str, steps: list[tuple[str, str, str, str]], query: str
) -> None:
    """Whatever users save, say and delete, and whatever is searched."""
    async with Runtime(tools, store=store_url, model=FunctionModel(stream_function=silence)) as runtime:
        own = {user: await runtime.open(f"own {user!r}", user) for user in USERS}
        conversations: dict[tuple[str, str], Session] = {}
        try:
            for action, user, key, text in steps:
                if action == "save":
                    await call(own[user], "save_note", key=key, text=f"{text} of_{user}_")
                elif action == "delete":
                    await call(own[user], "delete_note", key=key)
                elif action == "say":
                    session = conversations[user, key] = await runtime.open(f"{user!r} {key}", user)
                    await session.say(f"{text} of_{user}_")
                elif (user, key) in conversations:
                    await delete(runtime, conversations.pop((user, key)))
            for user, session in own.items():
                outcome = await session.call("search_memory", {"query": query or "tea"})
                if outcome.error is not None:
                    assert outcome.error.category == "validation"
                    continue
                known = {conversation.id for (of, _), conversation in conversations.items() if of == user}
                for hit in outcome.value["hits"]:
                    assert f"of_{user}_" in hit["text"]
                    assert len(hit["text"]) <= SNIPPET_LENGTH
                    assert hit["source"] == "note" or hit["session_id"] in known
        finally:  # the store is that of the next example, too
            for session in own.values():
                for key in ("k", "l"):
                    await call(session, "delete_note", key=key)
                await delete(runtime, session)
            for session in conversations.values():
                await delete(runtime, session)


async def silence(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    yield "…"
