"""The timeline of a conversation: lanes, list, filters, details, keyboard, live events, hostile events."""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.server.browser.filled_board import fill_board, write_board
from tests.server.browser.process import Serving
from tests.server.browser.tab import CONTROL, Tab

AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
ROWS = "$$('callboard-board-list .row')"
KINDS = f"{ROWS}.map((each) => each.querySelector('.kind').textContent)"
COUNT = "$('#board-count')?.textContent"
ACTIVE = "Number($('#events').getAttribute('aria-activedescendant')?.slice(6) ?? 0)"
WINDOW = "[$('#lane-canvas').dataset.from, $('#lane-canvas').dataset.to].map(Number)"
MANY = 3_000
HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script>\u202e'


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Start a server with boards that are written before. Returns its address."""
    folder = tmp_path_factory.mktemp("timeline") / "store"
    with Serving(folder) as made:
        fill_board(folder, "many", MANY)
        call = {"execution_id": HOSTILE, "call_id": "c", "tool": HOSTILE}
        write_board(folder, "hostile", [
            (0, "turn_started", {"turn_id": HOSTILE}),
            (1, "tool_started", {**call, "arguments": {HOSTILE: HOSTILE}}),
            (2, "tool_executing", {**call, "attempt": HOSTILE, "maximum": -1}),
            (3, "tool_result", {**call, "status": HOSTILE, "value": [HOSTILE]}),
            (4, "human_answer", {"request_id": HOSTILE, "answer": "x" * 300_000}),
            (5, HOSTILE.replace('"', ""), {"message": HOSTILE, "__proto__": {"a": 1}}),
        ])  # fmt: skip
        yield made.start()


def resize(tab: Tab, width: int, height: int = 800) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)


def open_board(tab: Tab, url: str, session: str, width: int = 1280) -> None:
    """Open the timeline of a conversation, and wait until all events are loaded."""
    resize(tab, width)
    tab.goto(f"{url}/?view=timeline&session={session}")
    loaded(tab)


def loaded(tab: Tab) -> None:
    tab.until(f"{ROWS}.length > 0 && !{COUNT}.startsWith('Loading')")


def key(tab: Tab, name: str, modifiers: int = 0) -> None:
    fields: dict[str, Any] = {"key": name, "modifiers": modifiers}
    if len(name) == 1:
        fields["text"] = name
    tab.call("Input.dispatchKeyEvent", type="keyDown", **fields)
    tab.call("Input.dispatchKeyEvent", type="keyUp", **fields)


def search(tab: Tab, text: str) -> None:
    tab.click("$('#board-search')")
    tab.select_all()
    tab.write(text)


def test_w1_timeline_shows_calls_with_attempts_people_and_their_details(offline: str, tab: Tab) -> None:
    resize(tab, 1280)
    tab.open(offline)
    tab.say("check the stock of lamps and pay 5 EUR to Ada")
    tab.until("seen($('.request .question'))")
    tab.push("Approve")
    tab.until_model_said("5.00 EUR went to Ada")
    tab.click("$('#timeline-link')")
    loaded(tab)
    assert "view=timeline" in tab.see("location.search")
    tab.until(f"{KINDS}.includes('Turn finished')")
    kinds = tab.see(KINDS)
    assert kinds[0] == "Message"
    assert {"Request", "Answer", "Attempt failed", "Result"} <= set(kinds)
    assert kinds.count("Attempt started") == 3
    tab.click(f"{ROWS}.find((each) => each.textContent.includes('Attempt failed'))")
    tab.until("$('aside .tree')?.textContent.includes('transient')")
    steps = tab.see("$$('.steps .kind').map((each) => each.textContent)")
    assert [each for each in steps if each.startswith("Attempt")] == [
        "Attempt started",
        "Attempt failed",
        "Attempt started",
    ]
    tab.click("$$('.steps button').find((each) => each.textContent.includes('Result'))")
    tab.until("$('aside h2').textContent.includes('Result')")
    execution = tab.see("$('aside code').textContent")
    tab.click("$('#show-call')")
    tab.until(f"seen($('.card[data-execution=\"{execution}\"]'))")
    assert f"call={execution}" in tab.see("location.search")


def test_w1_timeline_is_filtered_and_a_reload_keeps_its_place(filled: str, tab: Tab) -> None:
    open_board(tab, filled, "many")
    assert tab.see(COUNT) == "3,000 events"
    assert tab.see(f"{ROWS}.length") < 80
    tab.click("$('#board-failed')")
    tab.until(f"{COUNT}.endsWith(' of 3,000 events') && {ROWS}.every((each) => each.dataset.failed)")
    failed = tab.see(f"{COUNT}.split(' ')[0]")
    search(tab, "execution warehouse")
    tab.until(f"{COUNT}.split(' ')[0] !== {json.dumps(failed)} && {KINDS}.every((kind) => kind === 'Result')")
    tab.click("$('#board-clear')")
    tab.until(f"{COUNT} === '3,000 events'")
    tab.see("$('#board-family').focus()")
    tab.see("(($('#board-family').value = 'system'), $('#board-family').dispatchEvent(new Event('change')))")
    tab.until(
        f"{ROWS}.length > 0 && {KINDS}.every((kind) => ['Request', 'Answer', 'Task request', 'Notice'].includes(kind))"
    )
    tab.click("$('#board-clear')")
    tab.click("$('.kinds summary')")
    tab.click("$('.kinds input[name=human_request]')")
    tab.until(f"{ROWS}.length > 0 && {KINDS}.every((kind) => kind === 'Request')")
    tab.click("$('#zoom-in')")
    tab.see("$('#events').scrollTo(0, 640)")
    tab.until(f"{ROWS}[0].ariaPosInSet < 21 && $('#follow').ariaChecked === 'false'")
    tab.click(f"{ROWS}.find((each) => each.ariaPosInSet === '23')")
    tab.until("$('aside h2')")
    before = tab.see(f"[{WINDOW}, {COUNT}, $('#events').scrollTop, $('aside .number').textContent]")
    tab.reload()
    loaded(tab)
    tab.until(f"JSON.stringify([{WINDOW}, {COUNT}, $('#events').scrollTop, $('aside .number')?.textContent])"
              f" === JSON.stringify({json.dumps(before)})")  # fmt: skip


@pytest.mark.slow
def test_w1_timeline_follows_new_events_until_the_reader_scrolls(offline: str, tabs: Callable[..., Tab]) -> None:
    chat = tabs()
    resize(chat, 1280)
    chat.open(offline)
    chat.say("what is 1 + 1")
    chat.until_model_said("= 2.")
    session = chat.see("new URLSearchParams(location.search).get('session')")
    board = tabs(beside=chat)
    open_board(board, offline, session)
    last = f"{ROWS}.at(-1)"
    number = f"Number({last}.dataset.seq)"
    before = board.see(number)
    for count in range(3):
        chat.say(f"what is {count} + {count}")
        chat.until_model_said(f"{count} + {count} = {2 * count}.")
    board.until(f"{number} > {before} + 10 && seen({last}) && $('#follow').ariaChecked === 'true'")
    board.until("$('#events').scrollTop + $('#events').clientHeight >= $('#events').scrollHeight - 2")
    board.see("$('#events').scrollTo(0, 0)")
    board.until("$('#follow').ariaChecked === 'false' && $('#events').scrollTop === 0")
    newest = board.see(f"Number({COUNT}.split(' ')[0])")
    chat.say("what is 7 + 7")
    chat.until_model_said("= 14.")
    board.until(f"Number({COUNT}.split(' ')[0]) > {newest}")
    assert board.see("$('#events').scrollTop") == 0
    board.click("$('#follow')")
    board.until(f"$('#events').scrollTop > 0 && {KINDS}.at(-1) === 'Turn finished'")


@pytest.mark.slow
def test_w3_timeline_can_be_used_with_the_keyboard(filled: str, tab: Tab) -> None:
    open_board(tab, filled, "many")
    tab.see("$('#events').focus()")
    key(tab, "End")
    tab.until(f"{ACTIVE} === {MANY}")
    key(tab, "ArrowUp")
    tab.until(f"{ACTIVE} === {MANY - 1}")
    assert tab.see("$('aside')") is None
    key(tab, "Enter")
    tab.until(f"$('aside .number')?.textContent === '#{MANY - 1}'")
    key(tab, "ArrowUp")
    tab.until(f"$('aside .number').textContent === '#{MANY - 2}'")
    key(tab, "Escape")
    tab.until("!$('aside') && focused().id === 'events'")
    key(tab, "Home")
    tab.until(f"{ACTIVE} === 1 && seen($('#event-1'))")
    key(tab, "PageDown")
    tab.until(f"{ACTIVE} > 5 && seen($('#event-' + {ACTIVE}))")

    tab.see("$('#lanes').focus()")
    everything = tab.see(WINDOW)
    key(tab, "+")
    key(tab, "+")
    tab.until(f"{WINDOW}[1] - {WINDOW}[0] < {(everything[1] - everything[0]) * 0.6}")
    zoomed = tab.see(WINDOW)
    key(tab, "ArrowRight")
    tab.until(f"{WINDOW}[0] > {zoomed[0]}")
    key(tab, "0")
    tab.until(f"{WINDOW}[0] < {everything[0] + 1000}")  # it grows with the turn that is running


def drag(tab: Tab, y: float, *xs: float) -> None:
    """Press the button at the first place, move to the others, and release it at the last."""
    steps = [("mouseMoved", xs[0], "none"), ("mousePressed", xs[0], "left")]
    steps += [*(("mouseMoved", x, "left") for x in xs[1:]), ("mouseReleased", xs[-1], "left")]
    for kind, x, button in steps:
        tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)


@pytest.mark.slow
def test_w1_lanes_are_zoomed_moved_and_selected_with_the_pointer(filled: str, tab: Tab) -> None:
    open_board(tab, filled, "many")
    tab.until("$('#lane-canvas').dataset.from")
    without_idle = tab.see(WINDOW)
    tab.click("$('#skip-idle')")
    tab.until(f"$('#skip-idle').ariaChecked === 'false' && {WINDOW}[1] > {without_idle[1]}")
    everything = tab.see(WINDOW)
    frame = tab.see(
        "(({ x, y, width, height }) => ({ x, y, width, height }))($('#lane-canvas').getBoundingClientRect())"
    )
    x, y = frame["x"] + frame["width"] * 0.6, frame["y"] + 40
    wheel: dict[str, Any] = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -400}
    tab.call("Input.dispatchMouseEvent", **wheel, modifiers=CONTROL)
    tab.until(f"{WINDOW}[1] - {WINDOW}[0] < {(everything[1] - everything[0]) * 0.6}")
    before = tab.see(WINDOW)
    drag(tab, y, x, x - 60, x - 120)
    tab.until(f"{WINDOW}[0] > {before[0]}")
    assert tab.see("$('aside')") is None, "a drag is no click"
    tab.click("$('#fit')")
    tab.until(f"{WINDOW}[0] < {everything[0] + 1000}")  # it grows with the turn that is running
    drag(tab, frame["y"] + 24 + 18, x)
    tab.until(f"$('aside h2') && {ROWS}.some((each) => each.ariaSelected === 'true')")
    overview = tab.see("(({ x, y, width }) => ({ x, y, width }))($('#overview').getBoundingClientRect())")
    drag(tab, overview["y"] + 10, overview["x"] + overview["width"] * 0.25, overview["x"] + overview["width"] * 0.5)
    tab.until(f"{WINDOW}[0] > {everything[0]} && {WINDOW}[1] < {everything[1]}")


def test_w1_hostile_events_of_the_timeline_are_text(filled: str, tab: Tab) -> None:
    open_board(tab, filled, "hostile")
    assert tab.see(f"{ROWS}.length") == 6
    for number in range(1, 7):
        tab.click(f"$('#event-{number}')")
        tab.until(f"$('aside .number')?.textContent === '#{number}' && $('aside .tree, aside .notice')")
        assert tab.see("$$('callboard-board-view img, aside img, aside script, .row img, .row script').length") == 0
    assert HOSTILE.split("\u202e")[0] in tab.see("$('#event-2').textContent")
    assert tab.see("document.title") != "1"
    assert tab.see("({}).a") is None


@pytest.mark.slow
def test_w1_timeline_of_a_missing_or_deleted_conversation_says_so(offline: str, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.goto(f"{offline}/?view=timeline&session=never")
    tab.until("$('.nothing')?.dataset.state === 'missing' && seen($('.nothing'))")
    tab.goto(f"{offline}/?view=timeline")
    tab.until("$('.nothing')?.dataset.state === 'none'")
    create = {"method": "POST", "headers": {"content-type": "application/json"}, "body": '{"session_id": "short"}'}
    tab.see(f"fetch('/api/sessions', {json.dumps(create)}).then(() => null)")
    tab.goto(f"{offline}/?view=timeline&session=short")
    tab.until("$('.nothing')?.dataset.state === 'ready'")
    tab.see("fetch('/api/sessions/short', { method: 'DELETE' }).then(() => null)")
    tab.until("$('.nothing')?.dataset.state === 'deleted'")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (375, "light"), (375, "dark")])
def test_w3_timeline_fits_the_screen_and_is_accessible(filled: str, tab: Tab, width: int, scheme: str) -> None:
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    open_board(tab, filled, "many", width)
    assert tab.see("seen($('#lanes'))") is (width > 700)
    for details in (False, True):
        if details:
            tab.click(f"{ROWS}.at(-3)")
            tab.until("$('aside .tree')")
        assert tab.see(
            "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
        )
        hit = "$$('callboard-board-view button, callboard-board-view input, main button, main select').filter(seen)"
        assert min(tab.see(f"{hit}.map((each) => each.offsetHeight)")) >= 32
        tab.call("Runtime.evaluate", expression=AXE.read_text())
        found = tab.see("axe.run($('callboard-board-view')).then(({ violations }) => violations.map((each) =>"
                        " [each.id, each.nodes.map((node) => node.html.slice(0, 200))]))")  # fmt: skip
        assert found == []
