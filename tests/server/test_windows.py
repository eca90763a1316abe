"""Windows of a conversation: the newest messages, and earlier ones in pages, at a constant cost."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from callboard import Runtime
from callboard.chat.messages import Positioned, plain_messages
from callboard.chat.transcript import CallAnswer, Entry, Input, LateResult, Reply, TurnStart, encode_entry
from callboard.chat.window import MAX_BYTES, read_window
from callboard.storage.change import Change
from tests.server.conftest import TOOLS, Served, serve, take

pytestmark = pytest.mark.anyio


def turn(number: int, text: str = "") -> list[Entry]:
    """Return the transcript entries of a turn with a call."""
    call = ToolCallPart("add", {"a": number, "b": 1}, f"c{number}")
    return [
        TurnStart(f"t{number}", number),
        Input(f"question {number}{text}", number, f"i{number}"),
        Reply(ModelResponse(parts=[TextPart(f"let me see {number}"), call])),
        CallAnswer(f"c{number}", "add", str(number + 1), f"x{number}"),
        Reply(ModelResponse(parts=[TextPart(f"answer {number}")])),
    ]


async def long_conversation(served: Served, turns: int, text: str = "") -> None:
    """Write a conversation of so many turns to the store."""
    await served.session("s")
    await served.session("short")
    store = served.runtime.store
    for start in range(1, turns + 1, 100):
        some = [encode_entry(entry) for n in range(start, min(start + 100, turns + 1)) for entry in turn(n, text)]
        await store.commit([Change("s", transcript=some)])


class Counted:
    """Counts the transcript entries that are read."""

    def __init__(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read = 0
        store: Any = type(served.runtime.store)
        for name in ("transcript", "transcript_before"):
            monkeypatch.setattr(store, name, self._counted(getattr(store, name)))

    def _counted(self, method: Any) -> Any:
        async def counted(*args: Any, **kwargs: Any) -> Any:
            found = await method(*args, **kwargs)
            self.read += len(found[1] if isinstance(found, tuple) else found)
            return found

        return counted


async def test_h1_state_of_a_long_conversation_reads_only_its_newest_messages(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    await long_conversation(served, 400)
    counted = Counted(served, monkeypatch)
    state = (await served.get("/api/state", {"session_id": "s", "messages": 40})).json()
    assert state["messages"][-1]["text"] == "answer 400"
    assert len(state["messages"]) <= 40
    assert counted.read <= 200
    async with served.stream("s") as stream:
        [snapshot] = await take(stream, lambda sent: sent.event == "snapshot")
    assert snapshot.data["messages"][-1]["text"] == "answer 400"
    assert len(snapshot.data["messages"]) <= 100
    assert counted.read <= 500


async def test_h1_pages_of_messages_make_up_the_whole_conversation(served: Served) -> None:
    await long_conversation(served, 60)
    first = (await served.get("/api/state", {"session_id": "s", "messages": 30})).json()
    found, before = first["messages"], first["messages_next"]
    pages = 0
    while before is not None:
        page = (await served.get("/api/messages", {"session_id": "s", "before": before, "limit": 30})).json()
        found, before = page["messages"] + found, page["next"]
        assert len(page["messages"]) <= 30
        pages += 1
    assert pages >= 6
    whole = await (await served.runtime.open("s", "local")).messages()
    assert found == whole, "including the ids"
    assert len(whole) == 240
    assert [each["text"] for each in whole if each["role"] == "user"] == [f"question {n}" for n in range(1, 61)]
    newest = (await served.get("/api/messages", {"session_id": "s", "limit": 30})).json()
    assert newest["messages"] == first["messages"]


async def test_h1_a_window_is_bounded_in_bytes(served: Served) -> None:
    await long_conversation(served, 40, "x" * 60_000)
    answer = await served.get("/api/state", {"session_id": "s", "messages": 500})
    assert len(answer.content) < 2 * MAX_BYTES
    assert answer.json()["messages_next"] is not None
    assert (await served.get("/api/messages", {"session_id": "short"})).json() == {"messages": [], "next": None}
    assert (await served.get("/api/messages", {"session_id": "s"}, x_user="mallory")).status_code == 404


def no_tool(name: str) -> None:
    """Find no tool, so that no argument is secret."""


async def reading(entries: list[Entry]) -> Any:
    lines = [encode_entry(entry) for entry in entries]

    async def read(before: int | None, limit: int) -> tuple[int, list[bytes]]:
        end = len(lines) if before is None else before - 1
        start = max(0, end - limit)
        return start + 1, lines[start:end]

    return read


async def test_h1_late_result_stays_with_its_call() -> None:
    entries = [*turn(1), *turn(2), LateResult("x9", "done"), *turn(3)]
    whole = plain_messages((Positioned(place, entry) for place, entry in enumerate(entries, 1)), no_tool)
    read = await reading(entries)
    for most in range(1, 14):
        found: list[dict[str, Any]] = []
        before: int | None = None
        while True:
            window = await read_window(read, no_tool, before, most)
            found = window.messages + found
            if (before := window.before) is None:
                break
        assert found == whole, most
    late = next(each for each in whole if each["id"].startswith("rlate_"))
    assert late["content"] == "done"


async def test_h1_response_with_very_many_results_is_shown_in_part() -> None:
    calls = [ToolCallPart("add", {"a": n, "b": 1}, f"c{n}") for n in range(300)]
    results: list[Entry] = [CallAnswer(f"c{n}", "add", "y" * 5_000) for n in range(300)]
    read = await reading([Input("go", 1), Reply(ModelResponse(parts=calls)), *results])
    window = await read_window(read, no_tool, None, 50)
    assert len(window.messages) == 302 or len(window.messages) == 301
    assert all(len(each["content"]) <= 2_000 and each["cut"] for each in window.messages if each["role"] == "tool")


async def test_c2_streamed_text_has_the_id_of_its_message() -> None:
    async def respond(messages: Any, info: Any) -> AsyncIterator[str]:
        yield "Well, "
        yield "yes."

    model = FunctionModel(stream_function=respond)
    async with serve(Runtime(TOOLS, model=model)) as served:
        await served.session("s")
        async with served.stream("s") as stream:
            for text in ("one", "two"):
                await served.post("/api/chat", {"session_id": "s", "message": text})
                sent = await take(stream, lambda sent: sent.event == "turn_finished")
        said = {each.data["data"]["message_id"] for each in sent if each.event == "text"}
        state = (await served.get("/api/state", {"session_id": "s"})).json()
    assert said == {state["messages"][-1]["id"]}
