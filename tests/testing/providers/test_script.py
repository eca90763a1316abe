"""The script of a double (C5)."""

import json

from callboard.testing.providers import Break, Call, Gate, Text, Thinking, Turn, Usage


def test_c5_strings_are_texts_and_calls_get_ids() -> None:
    numbers = iter("12")
    turn = Turn("Hi.", Call("a"), Call("b", id="mine"), Call("c"), usage=Usage(1, 2)).with_ids(lambda: next(numbers))
    assert turn.content[0] == Text("Hi.")
    assert [call.id for call in turn.calls] == ["1", "mine", "2"]
    assert turn.usage == Usage(1, 2)


def test_c5_arguments_are_an_object_or_the_raw_text_of_the_model() -> None:
    assert json.loads(Call("a", {"x": [1]}).text) == {"x": [1]}
    assert Call("a").text == "{}"
    wrong = Call("a", '{"x": ')
    assert (wrong.text, "".join(wrong.deltas)) == ('{"x": ', '{"x": ')
    assert all(Call("a", {"x": 1}).deltas), "a stream brings them in two pieces"


def test_c5_gates_and_breaks_are_not_content() -> None:
    gate, inner = Gate(), Gate()
    turn = Turn(Thinking("Hm."), gate, Text("a", inner, "b"), Break())
    assert turn.content == (Thinking("Hm."), Text("a", inner, "b"))
    assert list(turn.pauses) == [gate, inner, Break()]
    assert Text("a", inner, "b").text == "ab"
