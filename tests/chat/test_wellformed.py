"""Parts of a conversation in a form that every provider accepts (C5)."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart, ToolReturnPart

from callboard.chat.messages import Positioned, plain_messages
from callboard.chat.transcript import CallAnswer, Entry, Input, LateResult, Reply, TurnStart
from callboard.chat.wellformed import is_blank, split, valid_arguments, valid_id, valid_name, valid_parts, valid_text

from .pairing import problems, render

anything = st.text(st.characters(), max_size=100) | st.text("\u200b \n\x00_-.:ab", max_size=70)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u200b", "\ufeff\u2060", "\x00", "\u3164\u2800", "\u00ad\ufe0f"])
def test_c5_invisible_texts_are_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", " .\u200b", "\U0001f600", "\ue000", "\u4e2d", "\U0001fae8"])
def test_c5_texts_that_show_something_are_not_blank(text: str) -> None:
    assert not is_blank(text)


@given(anything)
def test_c5_every_name_becomes_one_that_all_providers_accept(name: str) -> None:
    made = valid_name(name)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", made)
    assert valid_name(made) == made


@given(st.lists(anything, unique=True))
def test_c5_valid_ids_stay_unique(ids: list[str]) -> None:
    taken: set[str] = set()
    for each in [*ids, *(valid_id(each, ()) for each in ids)]:  # also ids that look like generated ones
        made = valid_id(each, taken)
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", made)
        assert made not in taken
        taken.add(made)


@given(anything | st.sampled_from(["{}", '{"a":1}', '{"a":NaN}', '{"a":1e999}', '{"a":"\\ud800"}', "[" * 500, "[]"]))
def test_c5_arguments_become_an_object_that_can_be_sent(arguments: str) -> None:
    made = valid_arguments(arguments)
    value: Any = json.loads(made) if isinstance(made, str) else made
    assert isinstance(value, dict)
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


@given(anything)
def test_c5_texts_can_be_stored_and_sent(text: str) -> None:
    assert "\x00" not in valid_text(text).encode().decode()


def test_c5_a_message_does_not_end_with_a_thought() -> None:
    thought, text = ThinkingPart("Hm.", signature="s", provider_name="anthropic"), TextPart("Yes.")
    assert valid_parts([thought], {}) == []
    assert valid_parts([thought, TextPart("\n")], {}) == []
    assert valid_parts([thought, text, thought], {}) == [thought, text]
    assert valid_parts([text, thought, text], {}) == [text, text]
    openai = ThinkingPart("Hm.", id="rs_1", provider_name="openai")
    assert valid_parts([text, openai, TextPart("", id="msg_1")], {})[-1] == TextPart("…", id="msg_1")


def test_c5_a_message_has_no_more_calls_than_providers_accept() -> None:
    calls = [ToolCallPart("add", {}, f"c{number}") for number in range(300)]
    assert [len(group) for group in split([TextPart("x"), *calls, TextPart("y")])] == [129, 128, 45]
    messages = render([Input("go"), Reply(ModelResponse(parts=calls))])
    assert problems(messages) == []
    assert [len(message.parts) for message in messages] == [1, 128, 128, 128, 128, 44, 44]


def test_m4_a_late_result_joins_only_messages_that_were_not_sent() -> None:
    called = Reply(ModelResponse(parts=[ToolCallPart("work", {}, "c1")]))
    begun: list[Entry] = [Input("go"), called, CallAnswer("c1", "work", 1)]
    joined = render([*begun, LateResult("x1", "done")])
    assert [len(message.parts) for message in joined] == [1, 2, 2]
    apart = render(
        [*begun, TurnStart("t2", 2), LateResult("x1", "done")]
    )  # a turn began, and the previous one may have made a request
    assert [len(message.parts) for message in apart] == [1, 1, 1, 1, 1]
    assert problems(apart) == []
    spoken = Reply(ModelResponse(parts=[TextPart("It runs.")]))
    after_input = render([*begun, spoken, Input("well?"), LateResult("x1", "done")])
    assert [len(message.parts) for message in after_input] == [1, 1, 1, 1, 1, 1, 1]


def test_m4_a_model_cannot_take_the_id_of_a_late_result() -> None:
    said = Reply(ModelResponse(parts=[ToolCallPart("work", {}, "late_x1")]))
    messages = render([Input("go"), said, CallAnswer("late_x1", "work", 1), LateResult("x1", "done")])
    assert problems(messages) == []
    answers = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    assert answers == [1, "done"]


def test_c5_people_see_the_original_texts_and_calls() -> None:
    said = Reply(ModelResponse(parts=[TextPart("\n"), ToolCallPart("größe", "{", "functions.add:0")]))
    asked, answered = plain_messages([Positioned(1, Input("\u200b")), Positioned(2, said)], lambda name: None)
    assert (asked["text"], answered["text"]) == ("\u200b", "\n")
    assert [(call["tool"], call["call_id"]) for call in answered["calls"]] == [("größe", "functions.add:0")]


def test_c5_a_blank_thought_of_openai_stays_with_the_item_after_it() -> None:
    thought = ThinkingPart("", id="rs_1", provider_name="openai")
    kept = valid_parts([thought, TextPart("Hello", id="msg_1")], {})
    assert [type(part) for part in kept] == [ThinkingPart, TextPart]
    assert not is_blank(kept[0].content)  # type: ignore[union-attr]
    assert valid_parts([ThinkingPart(""), TextPart("Hello")], {}) == [TextPart("Hello")]


def test_c5_ids_of_items_are_kept_only_directly_after_a_thought() -> None:
    lost = [TextPart("Hello", id="msg_1"), ToolCallPart("add", {}, "c1", id="fc_1")]
    assert [part.id for part in valid_parts(lost, {"c1": "c1"})] == [None, None]  # type: ignore[union-attr]
    kept = valid_parts([ThinkingPart("Hm.", id="rs_1", provider_name="openai"), *lost], {"c1": "c1"})
    assert [part.id for part in kept] == ["rs_1", "msg_1", None]  # type: ignore[union-attr]
