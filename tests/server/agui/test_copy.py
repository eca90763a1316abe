"""A client's copy against the transcript, with what clients do to a stream: in the end both are the same (H3, M4)."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from callboard.protocols.agui.copy import Call, Copy, Line
from tests.examples import examples
from tests.server.agui.stage import EVENT, Page


class Transcript:
    """Grows as a conversation's does: at its end, but for results and late calls, which join what the model said."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._calls = 0

    def user(self, text: str) -> None:
        self.lines.append(Line(f"m{len(self.lines)}", "user", text))

    def says(self, text: str, calls: int) -> None:
        self.lines.append(Line(f"m{len(self.lines)}", "assistant", text, [self._call("add") for _ in range(calls)]))

    def result(self, which: int) -> None:
        answered = {line.call_id for line in self.lines}
        waiting = [call.id for line in self.lines for call in line.calls if call.id not in answered]
        if waiting:
            self._answer(waiting[which % len(waiting)])

    def late(self) -> None:
        for line in reversed(self.lines):
            if line.role == "assistant":
                line.calls.append(call := self._call("task_result"))
                self._answer(call.id)
                return

    def _answer(self, call_id: str) -> None:
        owner = next(place for place, line in enumerate(self.lines) if call_id in [call.id for call in line.calls])
        order = [call.id for call in self.lines[owner].calls]
        place = owner + 1
        while (
            place < len(self.lines)
            and (other := self.lines[place].call_id) in order
            and order.index(other or "") < order.index(call_id)
        ):
            place += 1
        self.lines.insert(place, Line(f"r{call_id}", "tool", f"of {call_id}", call_id=call_id))

    def _call(self, tool: str) -> Call:
        self._calls += 1
        return Call(f"c{self._calls}", tool, "{}")

    def now(self) -> list[Line]:
        return [Line(each.id, each.role, each.text, list(each.calls), each.call_id) for each in self.lines]


class Client:
    """A page, and the copy of what it has."""

    def __init__(self, lines: list[Line]) -> None:
        self.page = Page()
        self.page.messages = [json.loads(json.dumps(line.message())) for line in lines]
        self.copy = Copy(lines)

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
                message["role"],
                message.get("content") or "",
                message.get("toolCallId"),
                [call["id"] for call in message.get("toolCalls", ())],
            )
            for message in self.page.messages
        ]


def told(lines: list[Line]) -> list[Any]:
    return [(line.role, line.text, line.call_id, [call.id for call in line.calls]) for line in lines]


STEP = st.one_of(
    st.tuples(st.just("user"), st.sampled_from(["hi", "yes", "go on"])),
    st.tuples(st.just("says"), st.tuples(st.sampled_from(["", "so", "well"]), st.integers(0, 2))),
    st.tuples(st.just("result"), st.integers(0, 3)),
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
            transcript.result(value)
        case _:
            transcript.late()


@examples(300, 2000)
@given(
    before=st.lists(STEP, max_size=8),
    kept=st.lists(st.booleans(), max_size=12),
    own=st.lists(st.sampled_from(["mine", "yes"]), max_size=2),
    after=st.lists(st.tuples(STEP, st.booleans()), max_size=10),
)
def test_h3_m4_after_a_run_the_client_has_the_transcript_and_one_result_for_each_call(
    before: list[Any], kept: list[bool], own: list[str], after: list[Any]
) -> None:
    transcript = Transcript()
    for kind, value in before:
        step(transcript, kind, value)
    has = [line for line, keep in zip(transcript.now(), kept, strict=False) if keep]
    fresh = [Line(f"own{place}", "user", text, fresh=True) for place, text in enumerate(own)]
    client = Client([*has, *fresh])
    if client.copy.differs(transcript.now()):
        client.take([client.copy.replace(transcript.now())])
    for line in fresh:
        if own and line.text:
            transcript.user(line.text)
    for (kind, value), look in after:
        step(transcript, kind, value)
        if look:
            client.take(client.copy.catch_up(transcript.now()))
    client.take(client.copy.catch_up(transcript.now()))
    results = [event["toolCallId"] for event in client.page.of("TOOL_CALL_RESULT")]
    assert len(results) == len(set(results)), "one result for each call"
    if client.copy.astray or client.copy.differs(transcript.now()):
        client.take([client.copy.replace(transcript.now())])
    assert client.has == told(transcript.now())
    assert not client.copy.waiting


def test_h3_text_that_is_not_what_was_heard_is_put_right() -> None:
    client = Client([])
    client.take([*client.copy.speak("One, "), *client.copy.speak("two")])
    client.take(client.copy.spoken("One, two, three"))
    assert client.has == [("assistant", "One, two, three", None, [])]
    client.take(client.copy.speak("Four"))
    client.take(client.copy.spoken("Five"))
    assert client.copy.astray
    lines = [Line("m0", "assistant", "One, two, three"), Line("m1", "assistant", "Five")]
    client.take([client.copy.replace(lines)])
    assert client.has == told(lines)
