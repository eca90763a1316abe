"""The API explorer: operations with addresses, requests by hand, problems, streams, and hostile descriptions."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

RESPONSE = "$('.response[data-state=done]')"


def show(tab: Tab, url: str, operation: str) -> None:
    tab.goto(f"{url}/?view=api&operation={operation}")
    tab.until("$('#send-request')")


def fill(tab: Tab, name: str, text: str) -> None:
    """Write into a field of the form."""
    tab.click(f"$('.try [name={json.dumps(name)}]')")
    tab.select_all()
    tab.write(text)


def send(tab: Tab, status: int) -> None:
    tab.click("$('#send-request')")
    tab.until(f"$('.response[data-state=done]')?.dataset.status === '{status}'")


def fulfill(tab: Tab, paused: dict[str, Any], body: bytes) -> None:
    """Answer a held request with a document."""
    headers = [{"name": "content-type", "value": "application/json"}]
    tab.call(
        "Fetch.fulfillRequest",
        requestId=paused["requestId"],
        responseCode=200,
        responseHeaders=headers,
        body=base64.b64encode(body).decode(),
    )


def test_w1_get_request_shows_status_time_and_a_tree(offline: str, tab: Tab) -> None:
    show(tab, offline, "list_tools")
    fill(tab, "limit", "2")
    send(tab, 200)
    outcome = tab.see("$('.outcome').textContent")
    assert "200" in outcome
    assert " ms" in outcome
    assert "bytes" in outcome
    tab.click("$$('.response summary').find((each) => each.textContent.startsWith('List of 2'))")
    tab.until("$$('.response callboard-json-tree .name').some((each) => each.textContent === '1')")
    tab.push("As text")
    assert json.loads(tab.see("$('.raw').textContent"))["tools"]
    tab.click("$('#curl')")
    command = tab.until("$('.command pre')?.textContent")
    assert command.splitlines()[1].strip() == f"'{offline}/api/tools?limit=2'"
    assert "Authorization" not in command


def test_w1_post_and_delete_with_a_confirmation(offline: str, tab: Tab) -> None:
    show(tab, offline, "create_session")
    fill(tab, "session_id", "made/by hand")
    send(tab, 201)
    show(tab, offline, "delete_session")
    fill(tab, "session_id", "made/by hand")
    tab.click("$('#send-request')")
    tab.until("$('#confirm-request')?.open && focused().textContent.trim() === 'Cancel'")
    tab.press("Escape")
    tab.until("!$('#confirm-request')")
    exists = "fetch('/api/sessions?limit=1000').then((each) => each.json())" \
             ".then(({ sessions }) => sessions.some((each) => each.session_id === 'made/by hand'))"  # fmt: skip
    assert tab.see(exists), "nothing was sent"
    tab.click("$('#send-request')")
    tab.until("$('#confirm-request')?.open")
    tab.click("$('#confirm-send')")
    tab.until(f"{RESPONSE}?.dataset.status === '200'")
    assert not tab.see(exists)


@pytest.mark.slow
def test_w1_body_can_be_written_as_json(offline: str, tab: Tab) -> None:
    show(tab, offline, "create_session")
    fill(tab, "session_id", "by-json")
    tab.click("$('#switch-body')")
    assert json.loads(tab.until("$('#body-json textarea')?.value")) == {"session_id": "by-json"}
    fill(tab, "json", "{broken")
    tab.click("$('#send-request')")
    tab.until("$('.try [role=alert]')?.textContent.includes('not valid JSON')")
    fill(tab, "json", '{"session_id": "by-json", "channel": "text"}')
    send(tab, 201)
    tab.push("As text")
    assert json.loads(tab.see("$('.raw').textContent"))["channel"] == "text"


@pytest.mark.slow
def test_w1_problems_are_explained(offline: str, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    show(tab, offline, "get_session")
    fill(tab, "session_id", "nobody-has-it")
    send(tab, 404)
    assert tab.see("$('.problem code').textContent") == "session_not_found"
    show(tab, offline, "send_message")
    tab.click("$('#send-request')")
    assert tab.see("$('.response')") is None, "a required field is missing"
    fill(tab, "session_id", "nobody-has-it")
    fill(tab, "message", "hello")
    send(tab, 404)


@pytest.mark.slow
def test_w1_token_is_sent_and_masked_until_it_is_revealed(
    browser: Browser, tmp_path: Path, tabs: Callable[..., Tab]
) -> None:
    with Serving(tmp_path / "keys") as server:
        key = server.run("keys", "create", "--user", "ann")
        url = server.start()
        tab = tabs()
        tab.goto(url)
        tab.see(f"sessionStorage.setItem('callboard.token', {key!r})")
        show(tab, url, "list_sessions")
        tab.see("sessionStorage.removeItem('callboard.token')")
        send(tab, 401)
        assert tab.see("$('.problem code').textContent") == "unauthenticated"
        assert "www-authenticate" in tab.see("$('.response details').textContent")
        tab.see(f"sessionStorage.setItem('callboard.token', {key!r})")
        send(tab, 200)
        tab.click("$('#curl')")
        assert key not in tab.until("$('.command pre')?.textContent")
        tab.click("$('.command input')")
        tab.until(f"$('.command pre').textContent.includes({key!r})")


@pytest.mark.slow
def test_w1_stream_is_shown_and_stopped(offline: str, tab: Tab) -> None:
    show(tab, offline, "create_session")
    fill(tab, "session_id", "streamed")
    send(tab, 201)
    show(tab, offline, "stream_events")
    fill(tab, "session_id", "streamed")
    tab.click("$('#send-request')")
    tab.until("$('.response[data-state=reading] .frames li .kind')?.textContent === 'snapshot'")
    assert tab.see("$('#send-request').disabled")
    tab.click("$('#stop-request')")
    tab.until("$('.response[data-state=stopped]') && !$('#send-request').disabled && !$('#stop-request')")


@pytest.mark.slow
def test_w3_operations_are_found_by_keyboard_and_have_addresses(offline: str, tab: Tab) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    tab.goto(f"{offline}/?view=api")
    tab.until("$$('[data-operation]').length > 20")
    tab.click("$('#search-operations')")
    tab.write("get health")
    tab.until("$$('[data-operation]').length === 1")
    tab.press("Tab")
    tab.press("Enter")
    tab.until("focused()?.id === 'operation'")
    assert "operation=get_health" in tab.see("location.search")
    send(tab, 200)
    tab.see("history.back()")
    tab.until("!$('#operation')")
    tab.goto(f"{offline}/?view=api&operation=none_like_it")
    tab.until("$('main .hint')?.textContent.includes('none_like_it')")


@pytest.mark.slow
def test_w3_explorer_fits_a_phone(offline: str, tab: Tab) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=375, height=700, deviceScaleFactor=1, mobile=True)
    show(tab, offline, "run_tool")
    assert tab.see("document.scrollingElement.scrollWidth") <= 375
    assert not tab.see("seen($('#search-operations'))")
    tab.click("$('.back')")
    tab.until("seen($('#search-operations'))")
    tab.click("$('[data-operation=get_health] a')")
    send(tab, 200)


HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`${alert(3)}"


def hostile_document() -> bytes:
    """A description of an API whose texts are markup, and whose paths lead elsewhere."""
    schema = {
        "type": "object",
        "title": HOSTILE,
        "properties": {HOSTILE: {"type": "string", "title": HOSTILE, "description": HOSTILE, "default": HOSTILE}},
    }
    operation = {
        "operationId": "evil",
        "summary": HOSTILE,
        "parameters": [{"name": HOSTILE, "in": "query", "description": HOSTILE, "schema": {"enum": [HOSTILE]}}],
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {HOSTILE: {"description": HOSTILE, "content": {HOSTILE: {"schema": schema}}}},
    }
    paths = {
        f"/api/{HOSTILE}": {"post": operation},
        "//evil.example/api/steal": {"get": {"operationId": "elsewhere", "responses": {}}},
        "javascript:alert(4)": {"get": {"operationId": "script", "responses": {}}},
    }
    return json.dumps({"paths": paths, "components": {"schemas": {HOSTILE: schema}}}).encode()


def test_w1_texts_of_a_description_never_become_markup(offline: str, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.goto(offline)
    tab.hold("/openapi.json")
    for number, operation in enumerate(("evil", "elsewhere", "script"), 1):
        tab.call("Page.navigate", url=f"{offline}/?view=api&operation={operation}")
        fulfill(tab, tab.held(number), hostile_document())
        tab.until("$('#send-request')")
        assert (
            tab.see("$$('callboard-api-explorer-view, main').flatMap((each) => [...each.querySelectorAll('img')])")
            == []
        )
        if operation == "evil":
            assert HOSTILE in tab.see("$('#operation').textContent")
            tab.click("$('.responses summary')")
            assert HOSTILE in tab.see("$('.responses').textContent")
        else:
            tab.click("$('#send-request')")
            tab.until("$('.try [role=alert]')?.textContent.includes('not on this server')")
            assert tab.see("$('.response')") is None
    tab.release()


@pytest.mark.slow
def test_w1_large_responses_are_shown_in_part(offline: str, tab: Tab) -> None:
    show(tab, offline, "get_health")
    tab.hold("/healthz")
    tab.see("(() => { window.slow = []; new PerformanceObserver((list) => window.slow.push(...list.getEntries()"
            ".map(({ duration }) => duration))).observe({ type: 'longtask' }); })()")  # fmt: skip
    tab.click("$('#send-request')")
    many = json.dumps([{"number": number, "text": "x" * 40} for number in range(25_000)]).encode()
    fulfill(tab, tab.held(1), many)
    tab.until("$('.response summary')?.textContent !== undefined && $('.response .json ul')")
    assert tab.see("$$('.response .json > ul > li').length") == 51, "the rest is behind a button"
    assert len(many) < 2_000_000
    tab.click("$('#send-request')")
    fulfill(tab, tab.held(2), b"[" + b"1," * 2_000_000 + b"1]")
    tab.until("$('.response .hint')?.textContent.includes('larger than')")
    assert tab.see("$('.raw').textContent.length") == 100_000
    assert max([0, *tab.see("window.slow")]) < 1_000
    tab.release()
