"""What the page shows of a wallet request: call data, dangers, hostile fields, and the page without a wallet."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab
from tests.server.browser.wallets import (
    BUTTONS,
    CONNECTED,
    FACTS,
    STATE,
    TO,
    ask,
    call,
    connect,
    install,
    serving_wallet_tool,
    wallet,
)

APPROVE_ALL = f"0x095ea7b3{TO[2:].lower().rjust(64, '0')}{'f' * 64}"
AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
HOSTILE = "</dd><img src=x onerror=\"document.title='lost'\">\u202etxt"


@pytest.fixture
def server(browser: Browser, tmp_path: Path) -> Generator[Serving]:
    with serving_wallet_tool(tmp_path / "served") as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_w3_wallet_request_is_accessible_and_fits_the_screen(
    server: Serving, tab: Tab, scheme: str, width: int
) -> None:
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
    install(tab, wallet(**CONNECTED))
    call(tab, server, value=str(2**255), data=APPROVE_ALL, description="x" * 300)
    tab.until(f"{BUTTONS}.includes('Connect Fox')")
    connect(tab)
    tab.until(f"{BUTTONS}.includes('Sign with Fox') && $('.wallet .warnings')")
    tab.click("$('.by-hand summary')")
    tab.until("within(document).every((root) => root.getAnimations().length === 0)")
    tab.see(f"void (0, eval)({json.dumps(AXE.read_text())})")
    found = tab.see("axe.run({ fromShadowDom: ['callboard-app', 'callboard-chat', '.wallet'] })"
                    ".then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))")  # fmt: skip
    assert found == []
    assert tab.see("$$('.wallet *').filter((each) => seen(each) && each.getBoundingClientRect().right > innerWidth)"
                   ".map((each) => each.outerHTML.slice(0, 80))") == []  # fmt: skip
    assert min(tab.see("$$('.wallet :is(button, input, select)').filter(seen).map((each) => each.offsetHeight)")) >= 32


def test_w1_without_a_wallet_the_page_says_what_to_do(offline: str, tab: Tab) -> None:
    ask(tab, offline)
    tab.until(f"{STATE}.includes('This browser has no wallet. Install a wallet')")
    assert tab.see("seen($('.wallet select'))"), "an answer by hand is offered"
    assert tab.see("$('.wallet select').selectedOptions[0].textContent") == "Choose…"
    tab.push("Answer")
    assert tab.see("$('.wallet select').validity.valueMissing && seen($('.wallet form'))"), "a choice is required"
    tab.see("$('.wallet select').focus()")
    tab.press("ArrowDown")
    tab.click("$('.wallet form input')")
    tab.write("0x12ab")
    tab.push("Answer")
    tab.until_model_said("transaction was confirmed (transaction 0x12ab)")


def test_w1_call_data_is_decoded_and_dangers_are_named(server: Serving, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    call(tab, server, value="0", data=APPROVE_ALL, gas_limit=60_000)
    assert tab.see("$('.wallet .headline').innerText") == "approve"
    facts = tab.see(FACTS)
    assert "approve(address,uint256)" in facts["call"]
    assert TO in facts["call"]
    assert facts["gas"] == "60,000"
    assert "take every token of this kind" in tab.see("$('.wallet .warnings').innerText")


@pytest.mark.slow
def test_w1_abi_of_the_request_is_used_only_if_it_fits(server: Serving, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    inputs = [{"name": "amount", "type": "uint256"}]
    abi = [{"type": "function", "name": name, "inputs": inputs} for name in ("harmless", "stake")]
    call(tab, server, data=f"0xa694fc3a{7:064x}", abi=abi)
    said = tab.see(FACTS)["call"]
    assert "stake(uint256)" in said
    assert "The names are those that the request gives." in said
    assert "harmless" not in said


@pytest.mark.slow
def test_w1_unknown_call_data_is_shown_raw_with_a_warning(server: Serving, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    call(tab, server, data="0xdeadbeef00ff", chain_id=None)
    warned = tab.see("$('.wallet .warnings').innerText")
    assert "The function 0xdeadbeef is not known here" in warned
    assert "The request does not specify a network" in warned
    tab.click("$('.wallet [data-fact=data] summary')")
    assert tab.see("$('.wallet pre').innerText") == "0xdeadbeef00ff"
    connect(tab)
    tab.until("$('.wallet .warnings').innerText.includes('expects this transaction to fail: execution reverted')")


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ({"to": "javascript:document.title='lost'"}, "not an address"),
        ({"to": TO.replace("5aAe", "5aae")}, "checksum of the recipient is wrong"),
        ({"value": "9" * 5000}, "not a number that a transaction can have"),
        pytest.param({"value": "0x1g"}, "not a number that a transaction can have", marks=pytest.mark.slow),
        pytest.param({"data": HOSTILE}, "not hexadecimal", marks=pytest.mark.slow),
        pytest.param({"from_address": HOSTILE}, "not an address", marks=pytest.mark.slow),
    ],
)
def test_w1_hostile_fields_are_shown_safely_and_cannot_be_sent(
    server: Serving, tab: Tab, fields: dict[str, Any], warning: str
) -> None:
    install(tab, wallet(HOSTILE, icon="javascript:document.title='lost'", **CONNECTED))
    call(tab, server, description=HOSTILE * 50, **fields)
    assert warning in tab.see("$('.wallet .warnings').innerText")
    assert "⟨U+202E⟩" in tab.see("$('.wallet blockquote').innerText")
    tab.until("seen($('.wallet select'))")
    assert tab.see(f"{BUTTONS}.filter((each) => /sign|connect/i.test(each))") == []
    assert tab.see("$$('.wallet :is(img, script, a)').length") == 0
    assert tab.see("document.title") == "(1) Callboard"
    assert tab.see("document.documentElement.scrollWidth <= innerWidth")


def test_w1_hostile_names_of_wallets_and_arguments_are_shown_safely(server: Serving, tab: Tab) -> None:
    icon = "https://evil.example/x.png"
    install(tab, wallet(HOSTILE, icon=icon, **CONNECTED), wallet("Bear\u202e", "b", icon="data:text/html,x"))
    abi = [{"type": "function", "name": "stake", "inputs": [{"name": HOSTILE, "type": "uint256"}]}]
    call(tab, server, data=f"0xa694fc3a{7:064x}", abi=abi, value=str(2**256 - 1))
    tab.until(f"{BUTTONS}.length > 2")
    assert tab.see("$$('.wallet :is(img, script)').length") == 0
    assert tab.see(f"{BUTTONS}.includes('Bear⟨U+202E⟩')")
    assert "⟨U+202E⟩" in tab.see("$('.wallet .arguments dt').innerText")
    assert tab.see("document.title") == "(1) Callboard"
    assert tab.see(FACTS)["value"].startswith("115,792,089,237,316,195,423,570,985,008,687,907,853,269,984,665,640")
    assert tab.see("document.documentElement.scrollWidth <= innerWidth")
