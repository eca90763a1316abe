"""Rendering any transcript, interrupted at any point, for a model (C5, M4, M7)."""

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from callboard.chat.rendering import TASK_RESULT, Rendering, late_id
from callboard.chat.transcript import (
    CallAnswer,
    Entry,
    Input,
    LateResult,
    LostResponse,
    Note,
    Reply,
    decode_entry,
    encode_entry,
)
from tests.examples import examples

from .pairing import problems, render, repaired, unanswered
from .scripted import flattened


def said(text: str = "", *calls: str) -> Reply:
    parts: list[Any] = [TextPart(text)] if text else []
    return Reply(ModelResponse(parts=[*parts, *(ToolCallPart("work", {}, call) for call in calls)]))


texts = st.text(min_size=1, max_size=5)
ids = st.sampled_from([f"c{number}" for number in range(6)])
happenings = st.one_of(
    st.builds(Input, texts, st.integers(1, 99)),
    st.builds(Note, texts),
    st.builds(lambda text, calls: said(text, *calls), texts, st.lists(ids, max_size=3)),
    st.builds(lambda text: Reply(said(text).response, failed=True), texts),
    st.builds(LostResponse, st.integers(0, 9), st.integers(0, 9), st.none() | st.just(0.5)),
    st.builds(CallAnswer, ids, st.just("work"), st.integers()),
    st.builds(LateResult, st.sampled_from(["x1-1", "x1-2", "x1-3"]), st.integers(), st.booleans()),
)
histories = st.builds(lambda first, rest: [Input(first), *rest], texts, st.lists(happenings, max_size=14))


@given(histories)
@examples(200, 1000)
def test_c5_a_failed_response_is_left_out_until_something_follows_it(history: list[Entry]) -> None:
    assume(Rendering(history).awaits_response and not unanswered(history))
    failed = [*history, Reply(said("I have ").response, failed=True)]
    assert Rendering(failed).awaits_response
    assert flattened(render(failed)) == flattened(render(history))
    again = [*failed, LostResponse(1, 1, None), said("I have paid.")]
    assert not Rendering(again).awaits_response
    assert flattened(render(again)) == flattened(render([*history, said("I have paid.")]))
    assert "I have " in str(flattened(render([*failed, Input("Go on.")])))


@given(histories)
@examples(400, 2000)
def test_c5_any_history_reads_in_valid_pairs_at_every_moment(history: list[Entry]) -> None:
    for length in range(1, len(history) + 1):
        assert problems(render(history[:length])) == []


@given(histories)
def test_c5_a_repaired_transcript_has_no_open_call_and_reads_the_same(history: list[Entry]) -> None:
    whole = [*history, *repaired(history)]
    assert unanswered(whole) == []
    assert _shape(render(whole)) == _shape(render(history))


@given(histories, happenings)
def test_m4_a_new_entry_does_not_change_earlier_messages(history: list[Entry], more: Entry) -> None:
    """Only the last response and the parts after it may grow; nothing before it changes."""
    history = [*history, *repaired(history)]
    before, after = _shape(render(history)), _shape(render([*history, more]))
    settled = max((index for index, (kind, _) in enumerate(before) if kind == "response"), default=0)
    assert after[:settled] == before[:settled]


@given(histories)
def test_c5_decoding_an_encoded_entry_returns_it(history: list[Entry]) -> None:
    assert [decode_entry(encode_entry(entry)) for entry in history] == history


def test_b2_an_entry_of_a_newer_version_is_left_out() -> None:
    assert decode_entry(b'{"kind":"hologram","x":1}') is None


def test_m4_a_late_result_is_a_call_and_its_result_after_the_last_response() -> None:
    history: list[Entry] = [
        Input("go"),
        said("", "c1"),
        CallAnswer("c1", "work", {"status": "started"}),
        said("It runs."),
    ]
    messages = render([*history, LateResult("x7-1", "done")])
    last, told = messages[-2:]
    assert isinstance(last, ModelResponse)
    assert isinstance(told, ModelRequest)
    text, call = last.parts
    assert isinstance(text, TextPart)
    assert isinstance(call, ToolCallPart)
    assert (call.tool_name, call.args, call.tool_call_id) == (TASK_RESULT, {"execution_id": "x7-1"}, late_id("x7-1"))
    [answer] = told.parts
    assert isinstance(answer, ToolReturnPart)
    assert (answer.content, answer.tool_call_id) == ("done", call.tool_call_id)


def test_m4_a_repeated_late_result_is_rendered_once() -> None:
    once: list[Entry] = [Input("go"), said("a"), LateResult("x1-1", 1)]
    assert _shape(render([*once, LateResult("x1-1", 2)])) == _shape(render(once))


def test_m7_inputs_follow_the_answers() -> None:
    history: list[Entry] = [Input("go"), said("", "c1"), Input("and?"), CallAnswer("c1", "work", {"status": "waiting"})]
    told = render(history)[-1]
    assert [type(part) for part in told.parts] == [ToolReturnPart, UserPromptPart]


def test_c5_the_check_of_pairs_finds_every_error() -> None:
    call, answer = ToolCallPart("work", {}, "c1"), ToolReturnPart("work", 1, "c1")
    good = [ModelRequest([UserPromptPart("go")]), ModelResponse([call]), ModelRequest([answer])]
    assert problems(good) == []
    assert problems(good[:2]) == ["the call c1 is not answered in the next message"]
    assert problems([good[0], ModelResponse([TextPart("x")]), ModelRequest([answer])]) == [
        "c1 is answered but was not called"
    ]
    assert problems([good[0], ModelResponse([call]), ModelRequest([answer, answer])]) == [
        "the call c1 is answered twice"
    ]
    assert problems([*good, ModelResponse([call]), ModelRequest([answer])]) == ["the call c1 is there twice"]
    assert problems(good[1:]) == ["the first message is not the user's"]
    assert problems([good[0], good[0]]) == ["messages 0 and 1 are both a request"]


def test_m4_ids_of_late_calls_suit_every_provider() -> None:
    assert late_id("x9f80046f0a77-12") == "late_x9f80046f0a77-12"
    assert len(late_id("x" * 200)) == 30
    assert late_id('x"é7') == "late_x7"


def _shape(messages: Any) -> list[tuple[str, list[Any]]]:
    """Messages without their times."""
    return [
        (
            message.kind,
            [
                (part.part_kind, getattr(part, "content", None), getattr(part, "tool_call_id", None))
                for part in message.parts
            ],
        )
        for message in messages
    ]
