"""Wallet requests on the page in a real browser, with doubles of wallets: signed, refused, failed, interrupted."""

import signal
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab
from tests.server.browser.wallets import (
    BUTTONS,
    CONNECTED,
    FACTS,
    ME,
    OTHER,
    STATE,
    TO,
    ask,
    call,
    confirm,
    connect,
    install,
    mine,
    reject,
    response,
    sent,
    serving_wallet_tool,
    sign,
    wallet,
)


@pytest.fixture
def server(browser: Browser, tmp_path: Path) -> Generator[Serving]:
    with serving_wallet_tool(tmp_path / "served") as made:
        yield made


def test_w1_transaction_is_shown_signed_in_the_wallet_and_confirmed(offline: str, tab: Tab) -> None:
    install(tab, wallet())
    ask(tab, offline)
    tab.until(f"{BUTTONS}.includes('Connect Fox')")
    facts = tab.see(FACTS)
    assert facts["value"] == "0.01 ETH"
    assert "10,000,000 gwei · 10,000,000,000,000,000 wei" in tab.see("$('.wallet .units').innerText")
    assert facts["to"] == TO
    assert facts["network"].startswith("Sepolia (chain 11155111)")
    assert facts["fee"] == "known when your wallet is connected"
    assert sent(tab) == 0
    connect(tab)
    assert not tab.see("$$('.wallet .send').find((each) => !each.disabled)"), "the wallet asks"
    confirm(tab, "eth_requestAccounts")
    tab.until(f"{FACTS}.fee === 'about 0.00042 ETH (21,000 gas at 20 gwei)'")
    assert tab.see(FACTS)["from"] == ME
    assert sent(tab) == 0, "nothing is sent before the person asks for it"
    tab.push("Sign with Fox")
    tab.until(f"{STATE}.includes('Confirm or reject the transaction in Fox')")
    assert tab.see(BUTTONS) == []
    confirm(tab, "eth_sendTransaction")
    tab.until(f"{STATE}.includes('Waiting for a block')")
    mine(tab)
    tab.until_model_said("transaction was confirmed", "in block 101 and has 1 confirmation")
    tab.until_status("send_ether", "succeeded")
    assert tab.see("walletDouble.parameters('eth_sendTransaction')") == [
        {"from": ME, "to": TO, "value": "0x2386f26fc10000", "data": "0x", "chainId": "0xaa36a7"}
    ]
    answered = response(tab)
    assert answered["status"] == "confirmed"
    assert answered["transaction_hash"] == f"0x{'1'.rjust(64, 'a')}"
    assert tab.see("$('.card .decision').innerText").startswith("Confirmed by the wallet")
    assert sent(tab) == 1


@pytest.mark.slow
def test_w3_transaction_is_signed_with_the_keyboard_and_told_to_screen_readers(offline: str, tab: Tab) -> None:
    install(tab, wallet())
    ask(tab, offline)
    tab.until(f"{BUTTONS}.includes('Connect Fox')")
    tab.until("!seen($('#stop'))")
    tab.see("$('callboard-request').focus()")
    tab.see("void (window.region = $('.wallet [role=status]'))")
    label = "focused().textContent.trim()"
    for button, method in (("Connect Fox", "eth_requestAccounts"), ("Sign with Fox", "eth_sendTransaction")):
        while tab.see(label) != button:
            tab.press("Tab")
            assert tab.see("$('.wallet').contains(focused())"), "the focus stays in the request"
        tab.press("Space")
        confirm(tab, method)
        if method == "eth_requestAccounts":
            tab.until(f"{label} === 'Sign with Fox'")
    tab.until(f"{STATE}.includes('Waiting for a block')")
    assert tab.see("region.isConnected && region.textContent.includes('Waiting for a block')"), "one live region"
    assert tab.see("$('.wallet').contains(focused())")
    mine(tab)
    tab.until_model_said("transaction was confirmed")
    assert tab.see("focused().id") == "message", "ready for the next message"


def test_w1_refusal_in_the_wallet_is_the_answer(offline: str, tab: Tab) -> None:
    install(tab, wallet())
    ask(tab, offline)
    connect(tab)
    reject(tab, "eth_requestAccounts")
    tab.until("$('.wallet .notice:not([hidden])')?.textContent.includes('You can try again')")
    connect(tab)
    confirm(tab, "eth_requestAccounts")
    tab.push("Sign with Fox")
    reject(tab, "eth_sendTransaction")
    tab.until_model_said("transaction was rejected", "rejected the transaction in the wallet")
    assert response(tab)["status"] == "rejected"
    assert tab.see("$('.card .decision').innerText").startswith("Rejected")


@pytest.mark.slow
def test_w1_person_can_decline_with_a_reason(offline: str, tab: Tab) -> None:
    install(tab, wallet())
    ask(tab, offline)
    tab.push("Decline…")
    tab.click("$('.wallet form input, .wallet form textarea')")
    tab.write("Not today.")
    tab.push("Decline")
    tab.until_model_said("transaction was rejected", "Not today.")
    assert sent(tab) == 0


@pytest.mark.slow
def test_w1_wallet_on_another_network_is_switched(offline: str, tab: Tab) -> None:
    install(tab, wallet(chainId=1, **CONNECTED))
    ask(tab, offline)
    connect(tab)
    tab.until(f"{STATE}.includes('Your wallet is on Ethereum (chain 1). This transaction is for Sepolia')")
    assert "Sign with Fox" not in tab.see(BUTTONS)
    tab.push("Switch to Sepolia (chain 11155111)")
    reject(tab, "wallet_switchEthereumChain")
    tab.until("seen($('.wallet .notice:not([hidden])'))")
    tab.push("Switch to Sepolia (chain 11155111)")
    confirm(tab, "wallet_switchEthereumChain")
    sign(tab)
    mine(tab)
    tab.until_model_said("transaction was confirmed")


@pytest.mark.slow
def test_w1_network_that_the_wallet_does_not_know_is_explained(offline: str, tab: Tab) -> None:
    install(tab, wallet(chainId=1, knownChains=[1], **CONNECTED))
    ask(tab, offline)
    connect(tab)
    tab.push("Switch to Sepolia (chain 11155111)")
    tab.until("$('.wallet .notice:not([hidden])')?.textContent.includes('does not know this network')")


@pytest.mark.slow
def test_w1_wrong_account_is_named_and_can_be_changed(server: Serving, tab: Tab) -> None:
    install(tab, wallet(otherAccounts=[OTHER], obliging=["eth_requestAccounts", "wallet_requestPermissions"]))
    call(tab, server, from_address=OTHER)
    connect(tab)
    tab.until(f"{STATE}.includes('must be sent from the account {OTHER}')")
    assert "Sign with Fox" not in tab.see(BUTTONS)
    tab.push("Choose another account")
    sign(tab)
    mine(tab)
    tab.until_status("send", "succeeded")
    assert tab.see("walletDouble.parameters('eth_sendTransaction')[0].from") == OTHER


@pytest.mark.slow
def test_w1_one_of_several_wallets_is_chosen(offline: str, tab: Tab) -> None:
    injected = wallet("", "injected", isInjected=True)
    install(tab, wallet(**CONNECTED), wallet("Bear", "org.example.bear", accounts=[OTHER], **CONNECTED), injected)
    ask(tab, offline)
    tab.until(f"{BUTTONS}.includes('Bear')")
    assert tab.see(BUTTONS) == ["Fox", "Bear", "Decline…"], "window.ethereum is a fallback"
    assert tab.see("$$('.wallet img').map((each) => each.naturalWidth > 0)") == [True, True]
    tab.push("Bear")
    tab.push("Other wallet")
    tab.push("Bear")
    sign(tab, "Bear")
    mine(tab)
    tab.until_model_said("transaction was confirmed")
    assert tab.see("walletDouble.parameters('eth_sendTransaction')[0].from") == OTHER


@pytest.mark.slow
def test_w1_wallet_without_an_announcement_is_found(offline: str, tab: Tab) -> None:
    install(tab, wallet(isInjected=True, **CONNECTED))
    ask(tab, offline)
    connect(tab, "your wallet")
    sign(tab, "your wallet")
    mine(tab)
    tab.until_model_said("transaction was confirmed")


@pytest.mark.slow
def test_w1_failure_on_the_chain_is_the_answer(server: Serving, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    call(tab, server, confirmations=2)
    connect(tab)
    sign(tab)
    mine(tab, failing=True)
    tab.until(f"{STATE}.includes('In block 101: 1 of 2 confirmations')")
    assert tab.see("$('.wallet progress').value") == 0.5
    mine(tab)
    tab.until_status("send", "succeeded")
    answered = response(tab)
    assert answered["status"] == "failed"
    assert "included in block 101 and failed there; it has 2 confirmations" in answered["detail"]
    assert answered["transaction_hash"]


@pytest.mark.slow
def test_w1_error_of_the_wallet_is_shown_and_not_tried_again(server: Serving, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    call(tab, server)
    connect(tab)
    tab.push("Sign with Fox")
    reject(tab, "eth_sendTransaction", -32000, "insufficient funds \u202e<b>")
    tab.until(f"{STATE}.includes('insufficient funds ⟨U+202E⟩<b>')")
    tab.until(f"{STATE}.includes('Your account has sent nothing since then.')")
    tab.push("It was not sent: ask again")
    tab.push("Sign with Fox")
    reject(tab, "eth_sendTransaction", -32000, "insufficient funds")
    tab.push("Report the failure")
    tab.until_status("send", "succeeded")
    assert response(tab)["status"] == "failed"
    assert "insufficient funds" in response(tab)["detail"]


def test_w1_reload_after_the_hash_sends_nothing_again(offline: str, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    ask(tab, offline)
    connect(tab)
    sign(tab)
    tab.until(f"{STATE}.includes('Waiting for a block')")
    hash_shown = tab.see("$('.wallet .hash code').textContent")
    for _ in range(2):
        tab.reload()
        tab.connected()
        tab.until(f"{STATE}.includes('Waiting for a block')")
        assert tab.see("$('.wallet .hash code').textContent") == hash_shown
        assert tab.see(BUTTONS) == ["Copy"]
    mine(tab)
    tab.until_model_said("transaction was confirmed")
    assert sent(tab) == 1
    assert response(tab)["transaction_hash"] == hash_shown


@pytest.mark.slow
def test_w1_reload_while_the_wallet_asks_leaves_the_decision_to_the_person(offline: str, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    ask(tab, offline)
    connect(tab)
    tab.push("Sign with Fox")
    tab.until("walletDouble.questions.length === 1")
    tab.reload()
    tab.connected()
    tab.until(f"{STATE}.includes('Check in your wallet') && {STATE}.includes('has sent nothing since then')")
    assert "Sign with Fox" not in tab.see(BUTTONS)
    assert sent(tab) == 1
    tab.push("It was not sent: ask again")
    sign(tab)
    mine(tab)
    tab.until_model_said("transaction was confirmed")
    assert sent(tab) == 2


def test_w1_two_tabs_send_once(offline: str, tabs: Callable[..., Tab]) -> None:
    one = tabs()
    install(one, wallet(**CONNECTED))
    ask(one, offline)
    connect(one)
    one.until(f"{BUTTONS}.includes('Sign with Fox')")
    other = tabs(one)
    install(other, wallet(**CONNECTED))
    other.open(one.see("location.href"))
    other.until(f"{BUTTONS}.includes('Sign with Fox')")
    one.call("Page.bringToFront")
    one.push("Sign with Fox")
    one.until("walletDouble.questions.length === 1")
    other.call("Page.bringToFront")
    other.until(f"{STATE}.includes('Another tab of this browser is sending')")
    assert other.see(BUTTONS) == []
    one.call("Page.bringToFront")
    confirm(one, "eth_sendTransaction")
    other.call("Page.bringToFront")
    other.until(f"{STATE}.includes('Another tab of this browser follows it')")
    one.goto("about:blank")  # the other tab goes on
    other.until(f"{STATE}.includes('Waiting for a block')")
    mine(other)
    other.until_model_said("transaction was confirmed")
    assert sent(other) == 1
    response(other)


def test_w4_outcome_reaches_a_server_that_was_killed_once(
    browser: Browser, tabs: Callable[..., Tab], tmp_path: Path
) -> None:
    tab = tabs()
    install(tab, wallet(**CONNECTED))
    with Serving(tmp_path / "served") as server:
        ask(tab, server.start())
        connect(tab)
        tab.push("Sign with Fox")
        tab.until("walletDouble.questions.length === 1")
        server.stop(signal.SIGKILL)  # while the wallet asks
        confirm(tab, "eth_sendTransaction")
        tab.until(f"{STATE}.includes('Waiting for a block')")
        mine(tab)
        tab.until(f"{STATE}.includes('The server does not know the outcome yet')")
        server.start()
        tab.see("seen($('#reconnect')) && $('#reconnect').click()")  # instead of waiting
        tab.until_model_said("transaction was confirmed")
        assert response(tab)["status"] == "confirmed"
        assert sent(tab) == 1

        ask(tab, server.url)
        tab.until("$$('.wallet').some(seen)")
        tab.push("Sign with Fox")
        confirm(tab, "eth_sendTransaction")
        tab.until(f"{STATE}.includes('Waiting for a block')")
        server.stop(signal.SIGKILL)  # between the hash and the answer
        mine(tab)
        tab.until(f"{STATE}.includes('The server does not know the outcome yet')")
        server.start()
        tab.goto(tab.see("location.href"))  # the outcome is stored, and sent by the new page
        tab.until_model_said("transaction was confirmed")
        assert sent(tab) == 2
