"""A client's copy of a conversation equals the transcript after every run, whatever it had before (H3, M4)."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from callboard.protocols.agui.client_messages import ClientMessages
from callboard.protocols.agui.thread_messages import MessageWindow, ThreadMessage, ToolCall
from tests.examples import examples
from tests.server.agui.stage import EVENT, Page


class Transcript:
    """A transcript that grows at its end. Late results have their own calls."""

    def __init__(self) -> None:
        self.messages: list[ThreadMessage] = []
        self._calls = 0
        self._read = 0

    def user(self, text: str, identity: str | None = None) -> None:
        self.messages.append(ThreadMessage(identity or f"u{len(self.messages)}", "user", text))

    def says(self, text: str, calls: int) -> None:
        while self.result():  # every call has its result before the next response of the model
            pass
        self.messages.append(
            ThreadMessage(f"a{len(self.messages)}", "assistant", text, [self._call("add") for _ in range(calls)])
        )

    def result(self) -> bool:
        answered = {message.call_id for message in self.messages}
        waiting = [call.id for message in self.messages for call in message.calls if call.id not in answered]
        if waiting:
            self.messages.append(ThreadMessage(f"r{waiting[0]}", "tool", f"of {waiting[0]}", call_id=waiting[0]))
        return bool(waiting)

    def late(self) -> None:
        while self.result():
            pass
        self.messages.append(ThreadMessage(f"l{len(self.messages)}", "assistant", calls=[self._call("task_result")]))
        self.result()

    def _call(self, tool: str) -> ToolCall:
        self._calls += 1
        return ToolCall(f"c{self._calls}", tool, "{}")

    def window(self, limit: int) -> MessageWindow:
        self._read = len(self.messages)
        return MessageWindow(self.now()[-limit:], limit >= len(self.messages))

    def news(self) -> list[ThreadMessage]:
        start, self._read = self._read, len(self.messages)
        return self.now()[start:]

    def now(self) -> list[ThreadMessage]:
        return [ThreadMessage(each.id, each.role, each.text, list(each.calls), each.call_id) for each in self.messages]


class Client:
    """A page, and the server's model of its messages."""

    def __init__(self, messages: list[ThreadMessage]) -> None:
        self.page = Page()
        self.page.messages = [json.loads(json.dumps(message.to_agui())) for message in messages]
        self.copy = ClientMessages(messages)

    def take(self, sent: list[bytes]) -> None:
        for frame in b"".join(sent).split(b"\n\n"):
            if frame:
                event = json.loads(frame.removeprefix(b"data: "))
                EVENT.validate_python(event)
                self.page.take(event)

    @property
    def has(self) -> list[Any]:
        return [
            (
                message["id"],
                message["role"],
                message.get("content") or "",
                message.get("toolCallId"),
                [call["id"] for call in message.get("toolCalls", ())],
            )
            for message in self.page.messages
        ]


def told(messages: list[ThreadMessage]) -> list[Any]:
    return [
        (message.id, message.role, message.text, message.call_id, [call.id for call in message.calls])
        for message in messages
    ]


STEP = st.one_of(
    st.tuples(st.just("user"), st.sampled_from(["hi", "yes", "go on"])),
    st.tuples(st.just("says"), st.tuples(st.sampled_from(["", "so", "well"]), st.integers(0, 2))),
    st.tuples(st.just("result"), st.none()),
    st.tuples(st.just("late"), st.none()),
)


def step(transcript: Transcript, kind: str, value: Any) -> None:
    match kind:
        case "user":
            transcript.user(value)
        case "says":
            text, calls = value
            transcript.says(text if text or calls else "…", calls)
        case "result":
            transcript.result()
        case _:
            transcript.late()


@examples(300, 2000)
@given(
    before=st.lists(STEP, max_size=8),
    kept=st.lists(st.booleans(), max_size=12),
    order=st.randoms(use_true_random=False) | st.none(),
    limit=st.sampled_from([3, 1_000]),
    own=st.lists(st.sampled_from(["mine", "yes"]), max_size=2),
    after=st.lists(st.tuples(STEP, st.booleans()), max_size=10),
)
def test_h3_m4_after_a_run_the_client_has_the_transcript_and_one_result_for_each_call(
    before: list[Any], kept: list[bool], order: Any, limit: int, own: list[str], after: list[Any]
) -> None:
    transcript = Transcript()
    for kind, value in before:
        step(transcript, kind, value)
    has = [message for message, keep in zip(transcript.now(), kept, strict=False) if keep]
    if order is not None:
        order.shuffle(has)
    is_new = [ThreadMessage(f"own{place}", "user", text, is_new=True) for place, text in enumerate(own)]
    client = Client([*has, *is_new])
    window = transcript.window(limit)
    client.copy.compare(window)
    if client.copy.differs:
        client.take(client.copy.replace())
    for message in is_new:
        transcript.user(message.text, message.id)
    for (kind, value), look in after:
        step(transcript, kind, value)
        if look:
            client.take(client.copy.catch_up(transcript.news()))
    client.take(client.copy.catch_up(transcript.news()))
    results = [event["toolCallId"] for event in client.page.of("TOOL_CALL_RESULT")]
    assert len(results) == len(set(results)), "one result for each call"
    if client.copy.differs:
        client.take(client.copy.replace())
    expected = told(transcript.now())
    if not window.whole:
        newest = expected[len(before_window(transcript, window)) :]
        assert client.has[len(client.has) - len(newest) :] == newest
    else:
        assert client.has == expected
    assert not client.copy.has_new_input


def before_window(transcript: Transcript, window: MessageWindow) -> list[ThreadMessage]:
    first = window.messages[0].id
    return transcript.messages[: [message.id for message in transcript.messages].index(first)]


def test_h3_streamed_text_that_differs_from_the_transcript_is_replaced() -> None:
    client = Client([])
    client.copy.compare(MessageWindow([], True))
    client.take([*client.copy.add_text("a1", "One, "), *client.copy.add_text("a1", "two")])
    client.take(client.copy.end_text("One, two, three"))
    client.take(client.copy.catch_up([ThreadMessage("a1", "assistant", "One, two, three")]))
    assert client.has == [("a1", "assistant", "One, two, three", None, [])]
    assert not client.copy.differs
    client.take(client.copy.add_text("a2", "Four"))
    client.take(client.copy.end_text("Five"))
    messages = [ThreadMessage("a1", "assistant", "One, two, three"), ThreadMessage("a2", "assistant", "Five")]
    client.take(client.copy.catch_up(messages[1:]))
    assert client.copy.differs
    client.take(client.copy.replace())
    assert client.has == told(messages)
