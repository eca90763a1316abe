"""The offline model: the calls that phrases mean, the wording of results, and hostile texts (C6)."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import Runtime
from callboard.chat.model import ModelUnavailable, choose_model
from callboard.demo.offline import DISCLAIMER, MAX_CALLS, MAX_UNKNOWN
from callboard.demo.phrases import EXAMPLES, Task, broken_arguments_in, calls_in, unknown_tools_in
from callboard.demo.sentences import sentence
from callboard.demo.tools import demo_tools
from callboard.toolkits import built_in
from tests.examples import examples

TASKS = [Task("xa-1", "build_report"), Task("xb-2", "send_payment")]
TOOLS = (*demo_tools(0), *built_in())
WORK = ["task_status", "task_list", "task_result", "cancel_task"]
ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
ETHER = {"to": ADDRESS, "value": "10000000000000000", "data": "0x", "chain_id": 11155111}
TO_ADDRESS = f"Send 0.01 test ether to {ADDRESS}"
LUNCH = "Send 0.01 test ether to Ada for lunch"
NAMES = [*(tool.name for tool in TOOLS), *WORK]


def now(*zones: str) -> list[Any]:
    return [("get_current_time", {"timezone": zone}) for zone in zones]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("what time is it?", now("UTC")),
        ("What is the date in Europe/Berlin", now("Europe/Berlin")),
        ("time in Asia/Tokyo and Europe/Paris", now("Asia/Tokyo", "Europe/Paris")),
        ("what time is it in Tokyo and New York?", now("Asia/Tokyo", "America/New_York")),
        ("what time is it in tokyo?", now("Asia/Tokyo")),
        ("What time is it in Atlantis?", now("Atlantis")),
        ("what time is it in the morning?", now("UTC")),
        (
            "convert 2026-03-29T14:30 from Europe/Paris to Asia/Tokyo",
            [
                (
                    "convert_time",
                    {"time": "2026-03-29T14:30", "from_timezone": "Europe/Paris", "to_timezone": "Asia/Tokyo"},
                )
            ],
        ),
        ("what is 12 * (3 + 4)?", [("calculate", {"expression": "12 * (3 + 4)"})]),
        ("7/2", [("calculate", {"expression": "7/2"})]),
        (
            "what is 1 + 1 and 2 + 2; 3 + 3",
            [("calculate", {"expression": each}) for each in ("1 + 1", "2 + 2", "3 + 3")],
        ),
        ("Check the stock of desk lamps.", [("check_stock", {"item": "desk lamps"})]),
        ("how many lamps are there?", [("check_stock", {"item": "lamps"})]),
        ("build a report on coffee", [("build_report", {"subject": "coffee"})]),
        ("index the letters", [("index_archive", {"archive": "letters"})]),
        ("Index my old letters with 20 pages.", [("index_archive", {"archive": "old letters", "pages": 20})]),
        ("report about tea with 5 chapters", [("build_report", {"subject": "tea", "chapters": 5})]),
        (
            "pay 25 EUR to Ada for lunch",
            [("send_payment", {"amount": "25", "to": "Ada", "currency": "EUR", "purpose": "lunch"})],
        ),
        ("send $3.50 to Bob", [("send_payment", {"amount": "3.50", "to": "Bob", "currency": "USD"})]),
        ("deliver the lamp", [("ask_delivery", {"parcel": "lamp"})]),
        (f"send 0.01 ETH to {ADDRESS}", [("send_ether", {**ETHER, "description": TO_ADDRESS})]),
        ("Pay 0.01 ether to Ada for lunch!", [("send_ether", {**ETHER, "description": LUNCH})]),
        ("send 0.01 ETH to 0x12", []),
        ("think about the weather", [("think", {"thought": "the weather"})]),
        (
            "fetch https://example.com and https://example.org/a?b=1",
            [("http_fetch", {"url": "https://example.com"}), ("http_fetch", {"url": "https://example.org/a?b=1"})],
        ),
        ("list tasks", [("task_list", {})]),
        ("what is running?", [("task_list", {})]),
        ("status of x1f-2", [("task_status", {"execution_id": "x1f-2"})]),
        ("cancel the report", [("cancel_task", {"execution_id": "xa-1"})]),
        ("stop it", [("cancel_task", {"execution_id": "xb-2"})]),
        ("result of build_report", [("task_result", {"execution_id": "xa-1"})]),
        ("task_list", [("task_list", {})]),
        ('calculate {"expression": "1 and 2; 3"}', [("calculate", {"expression": "1 and 2; 3"})]),
        (
            'think{"thought": "{a}"} and think {"thought": "b"} and list tasks',
            [("think", {"thought": "{a}"}), ("think", {"thought": "b"}), ("task_list", {})],
        ),
        ("hello", []),
        ("what is love", []),
        ("cancel the meeting", []),
        ("calculate {", []),
        ('calculate {"expression": NaN}', []),
        ('delete_everything {"really": true}', []),
        ("I have no time for Paris Hilton", now("Europe/Paris")),
        ("", []),
    ],
)
def test_c6_phrases_mean_calls(text: str, calls: list[Any]) -> None:
    assert calls_in(text, NAMES, TASKS) == calls


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('nope {"a": 1}', ["nope"]),
        ('nope{"a": 1}', ["nope"]),
        ('list tasks and nope {"a": 1}; calculate {"expression": "1"}\n  other  {}', ["nope", "other"]),
        ('nope {} and nope {"a": 1}', ["nope"]),
        ('think about the value {"a": 1}', []),
        ('calculate {"expression": "1 and nope {}"}', []),
        ("nope {a}", []),
        ("nope {", []),
        ("nope", []),
        ("", []),
    ],
)
def test_c6_names_with_arguments_that_no_tool_has(text: str, names: list[str]) -> None:
    assert unknown_tools_in(text, NAMES) == names


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        (
            "calculate {a: 1",
            [("calculate", "Expecting property name enclosed in double quotes, at line 1, column 2")],
        ),
        (
            'list tasks and think{"thought": "a"',
            [("think", "Expecting ',' delimiter, at line 1, column 16")],
        ),
        ('calculate {"expression": NaN}', [("calculate", "NaN is not JSON")]),
        ("calculate " + '{"a":' * 50_000, [("calculate", "it is nested too deeply")]),
        ('calculate {"expression": "1"}', []),
        ("nope {a: 1", []),
        ("how much is calculate {a", []),
        ("", []),
    ],
    ids=lambda value: str(value)[:20],
)
def test_c6_arguments_that_are_not_json(text: str, broken: list[tuple[str, str]]) -> None:
    assert broken_arguments_in(text, NAMES) == broken


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("Where am I?", ("where_am_i", {})),
        ("what time is it here", ("local_time", {})),
        ("copy 'hello you' to my clipboard", ("copy_to_clipboard", {"text": "hello you"})),
        ("copy hello into the clipboard.", ("copy_to_clipboard", {"text": "hello"})),
        ("save hello as notes.txt", ("download_file", {"content": "hello", "name": "notes.txt"})),
        ("notify me that tea is ready", ("show_notification", {"title": "Callboard", "body": "tea is ready"})),
        ("notify me", ("show_notification", {"title": "Callboard", "body": "You asked for this."})),
    ],
)
def test_c6_phrases_about_the_browser_mean_tools_of_the_page_if_it_has_sent_them(text: str, call: Any) -> None:
    assert calls_in(text, [*NAMES, call[0]]) == [call]
    assert call[0] not in {name for name, _ in calls_in(text, NAMES)}


@pytest.mark.parametrize(("tool", "phrase"), EXAMPLES)
def test_c6_every_example_phrase_calls_its_tool(tool: str, phrase: str) -> None:
    assert {name for name, _ in calls_in(phrase, NAMES)} == {tool}
    assert calls_in(phrase, [name for name in NAMES if name != tool]) == []


words = st.sampled_from(
    [phrase for _, phrase in EXAMPLES] + [" and ", "; ", "{", '{"a": 1}', "\n", "cancel it", *NAMES]
)


@examples(300, 1000)
@given(st.lists(words | st.text(max_size=20)).map("".join), st.lists(st.sampled_from([*NAMES, "other"])))
def test_c6_any_text_calls_only_known_tools(text: str, names: list[str]) -> None:
    for name, arguments in calls_in(text, names, TASKS):
        assert name in names
        assert isinstance(arguments, dict)


json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@examples(300, 1000)
@given(st.sampled_from(NAMES), st.dictionaries(st.just("execution_id") | st.text(), json), json, st.booleans())
def test_c6_any_result_makes_a_sentence(tool: str, arguments: dict[str, Any], content: Any, failed: bool) -> None:
    assert sentence(tool, arguments, content, failed, TASKS).strip()


@pytest.mark.parametrize(
    "text",
    [
        "1" * 100_000 + "x",
        "what is " + "1" * 100_000 + "x",
        "a" * 1_000_000,
        " " * 1_000_000,
        "and " * 100_000,
        "A/" * 100_000,
        "report on " * 50_000,
        "pay 1 to " * 50_000,
        'think {"thought": "' * 20_000,
        "think {" * 50_000,
        "(" * 100_000 + "1",
        '{"a":' * 50_000,
        "cancel the " * 50_000,
        "\n" * 100_000,
        "; x {" * 50_000,
        "; think {" * 12_000,
        '; x {"a": "' * 20_000,
        "copy a " * 14_000,
        "copy " + "a " * 490 + ("; copy " + "a " * 490) * 100,
        "notify me " * 10_000,
    ],
    ids=lambda text: f"{text[:12]}…",
)
def test_c6_a_hostile_text_takes_no_time(text: str) -> None:
    before = time.process_time()
    calls_in(text, NAMES, TASKS)
    unknown_tools_in(text, NAMES)
    broken_arguments_in(text, NAMES)
    assert time.process_time() - before < 2.0


@pytest.mark.parametrize(
    ("tool", "arguments", "content", "failed", "said"),
    [
        ("add", {}, "3", False, "add gives 3."),
        ("pay", {}, '"paid 5"', False, "pay gives paid 5."),
        ("look", {}, '{"open_doors": 2, "names": ["a"], "safe": true}', False, "look gives open doors: 2, names: "),
        ("add", {}, {"category": "validation", "message": "No."}, True, "add failed: No."),
        ("calculate", {"expression": "1+1"}, '"2"', False, "1+1 = 2."),
        ("calculate", {}, '"2"', False, "calculate gives 2."),
        ("task_list", {}, "[]", False, "Nothing is running"),
        (
            "cancel_task",
            {"execution_id": "xa-1"},
            '{"execution_id": "xa-1", "cancelled": true}',
            False,
            "It is cancelled.",
        ),
        ("task_result", {"execution_id": "xa-1"}, '"done"', False, "A result came in from build_report: done."),
        ("task_result", {"execution_id": "xz-1"}, '"done"', False, "A result came in: done."),
        ("task_result", {"execution_id": "xa-1"}, {"message": "It broke."}, True, "build_report failed: It broke."),
        (
            "build",
            {},
            {"status": "started", "execution_id": "xa-1", "tool": "build"},
            False,
            "build is running in the background",
        ),
        ("pay", {}, {"status": "waiting", "execution_id": "xa-1", "tool": "pay"}, False, "pay is waiting for a person"),
    ],
)
def test_c6_results_read_as_sentences(tool: str, arguments: Any, content: Any, failed: bool, said: str) -> None:
    assert sentence(tool, arguments, content, failed, TASKS).startswith(said)


@pytest.mark.anyio
async def test_c6_the_offline_model_states_that_it_is_not_a_language_model() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        session = await runtime.open("s", user_id="u", namespaces=["demo"])
        turn = await session.say("hello, who are you?")
        assert DISCLAIMER in turn.text
        assert "build a report on coffee" in turn.text
        assert "fetch" not in turn.text  # it sees no such tool
        assert "\n\nOr write the name of a tool" in turn.text  # a paragraph of its own after the list
        turn = await session.say("calculate {expression: 1}")
        assert turn.text == (
            "The arguments of calculate are not JSON: "
            "Expecting property name enclosed in double quotes, at line 1, column 2."
        )


@pytest.mark.anyio
async def test_c6_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    async with Runtime(demo_tools(0), model="offline") as runtime:
        session = await runtime.open("s", user_id="u", namespaces=["demo"])
        turn = await session.say('nope {"a": 1}')
        assert turn.text.startswith("There is no tool nope. I see these tools: ")
        assert "calculate" in turn.text
        assert DISCLAIMER not in turn.text
        turn = await session.say('nope {"a": 1} and what is 1 + 1')
        assert turn.text.endswith("1 + 1 = 2.")
        said = [event.data["text"] for event in session.board.read(0) if event.kind == "text"]
        assert sum("There is no tool nope." in text for text in said) == 2
        turn = await session.say("; ".join(f"no{number} {{}}" for number in range(50)))
        assert turn.text.count("There is no tool") == MAX_UNKNOWN


@pytest.mark.anyio
async def test_c6_every_mode_can_be_used_and_a_failure_is_reported() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        session = await runtime.open("s", user_id="u")
        turn = await session.say("what is 6 * 7 and calculate 1/0 and what is 1 + 1")
        assert turn.text == "6 * 7 = 42. calculate failed: The expression divides by zero. 1 + 1 = 2."
        turn = await session.say("pay 5 EUR to Ada")
        assert turn.status == "paused"
        [request] = await session.requests()
        await session.answer(request.id, {"approved": False, "reason": "Too much."})
        await session.say("build a report on tea")
        async for event in session.events(after=0):
            if event.kind == "text" and "'All about tea' is ready" in event.data["text"]:
                break


@pytest.mark.anyio
async def test_c6_the_number_of_parallel_calls_is_limited() -> None:
    async with Runtime(TOOLS, model="offline") as runtime:
        session = await runtime.open("s", user_id="u")
        turn = await session.say("; ".join(["what is 1 + 1"] * (MAX_CALLS + 5)))
        assert "too much at once" in turn.text
        assert turn.text.count("1 + 1 = 2.") == MAX_CALLS


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("anthropic:claude-sonnet-4-5", "set the environment variable ANTHROPIC_API_KEY"),
        ("nobody:nothing", "There is no model 'nobody:nothing'"),
        ("groq:llama", "needs the package groq"),
    ],
)
def test_c6_an_unavailable_model_names_the_missing_key_or_package(
    model: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match=said):
        choose_model(model)
