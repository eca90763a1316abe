"""Wallet requests that create a contract, in a real browser: with doubles of wallets, and on a real chain."""

import signal
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from tests.conftest import without
from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab
from tests.server.browser.wallets import (
    BUTTONS,
    CONNECTED,
    FACTS,
    ME,
    STATE,
    call,
    connect,
    install,
    mine,
    response,
    sent,
    serving_wallet_tool,
    sign,
    wallet,
)
from tests.servers import Unavailable
from tests.toolkits.development_chain import ACCOUNTS, CHAIN_ID, DevelopmentChain, development_chain

CODE = "0x600a600c600039600a6000f3602a60005260206000f3"
"""The code of a contract whose functions all return 42."""
WARNINGS = "$('.wallet .warnings').innerText"
TOOLSET = """
from callboard import Registry
from callboard.toolkits.ethereum import Chain, ethereum_toolset

registry = Registry(ethereum_toolset([Chain({chain}, ("{url}",))], sources=[], etherscan=None).tools())
"""


@pytest.fixture
def server(browser: Browser, tmp_path: Path) -> Generator[Serving]:
    with serving_wallet_tool(tmp_path / "served") as made:
        yield made


@pytest.fixture
def chain() -> Generator[DevelopmentChain]:
    try:
        with development_chain() as made:
            yield made
    except Unavailable as why:
        without("A development chain", why)


def test_w1_contract_is_created_in_the_wallet(server: Serving, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    call(tab, server, to=None, value="0", data=CODE)
    assert tab.see("$('.wallet .headline').innerText") == "New contract"
    facts = tab.see(FACTS)
    assert facts["to"] == "Creates a new contract"
    assert facts["code"].startswith("22 bytes")
    assert f"0x{keccak(hexstr=CODE).hex()}" in facts["code"]
    assert "Create it only if you trust its source" in tab.see(WARNINGS)
    assert "seems to be missing" not in tab.see(WARNINGS)
    connect(tab)
    sign(tab)
    tab.until(f"{STATE}.includes('Waiting for a block')")
    mine(tab)
    tab.until_status("send", "succeeded")
    fields = {"from": ME, "value": "0x0", "data": CODE, "chainId": "0xaa36a7"}
    assert tab.see("walletDouble.parameters('eth_sendTransaction')") == [fields], "without a recipient"
    assert response(tab)["contract_address"] == to_checksum_address(f"0x{'a' * 39}1")
    assert sent(tab) == 1


@pytest.mark.slow
def test_w1_failed_creation_has_no_contract(server: Serving, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    call(tab, server, to=None, value="1000", data=CODE)
    assert tab.see(FACTS)["to"] == "Creates a new contract"
    assert tab.see("$('.wallet .headline').innerText").endswith("ETH"), "the amount is the headline"
    connect(tab)
    sign(tab)
    mine(tab, failing=True)
    tab.until_status("send", "succeeded")
    answer = response(tab)
    assert (answer["status"], answer["contract_address"]) == ("failed", None)


@pytest.mark.slow
def test_w1_call_without_its_recipient_is_noticed(server: Serving, tab: Tab) -> None:
    install(tab, wallet(**CONNECTED))
    call(tab, server, to=None, value="0", data=f"0xa9059cbb{1:064x}{2:064x}")
    assert "The data is a call of transfer(address,uint256)" in tab.see(WARNINGS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ({"to": None, "data": "0x"}, "neither a recipient nor the code of a new contract"),
        ({"to": "", "data": CODE}, "not an address"),
        ({"to": "0x0", "data": CODE}, "not an address"),
        ({"to": None, "data": f"{CODE}0"}, "not hexadecimal"),
    ],
)
def test_w1_creation_that_is_not_valid_cannot_be_sent(
    server: Serving, tab: Tab, fields: dict[str, Any], warning: str
) -> None:
    install(tab, wallet(**CONNECTED))
    call(tab, server, **fields)
    assert warning in tab.see(WARNINGS)
    tab.until("seen($('.wallet select'))")
    assert tab.see(f"{BUTTONS}.filter((each) => /sign|connect/i.test(each))") == []


@pytest.mark.slow
def test_w4_contract_is_created_on_a_real_chain_although_the_server_is_killed(
    browser: Browser, chain: DevelopmentChain, tabs: Callable[..., Tab], tmp_path: Path
) -> None:
    """The wallet sends with a key of the development chain."""
    tab, account = tabs(), ACCOUNTS[0]
    install(tab, wallet(accounts=[account], chainId=CHAIN_ID, **CONNECTED), node=chain.url)
    with Serving(tmp_path / "served", "--tools", "chain_tools:registry") as server:
        (tmp_path / "served" / "chain_tools.py").write_text(TOOLSET.format(chain=CHAIN_ID, url=chain.url))
        server.start()
        creation = {"to": None, "value": "0", "data": CODE, "chain_id": CHAIN_ID, "confirmations": 2}
        call(tab, server, "send_transaction_to_wallet", **creation)
        connect(tab)
        tab.until(f"{FACTS}.fee.startsWith('about')")
        sign(tab)
        tab.until(f"{STATE}.includes('1 of 2 confirmations')")
        server.stop(signal.SIGKILL)
        chain.call("evm_mine")
        tab.until(f"{STATE}.includes('The server does not know the outcome yet')")
        server.start()
        tab.goto(tab.see("location.href"))
        tab.until_status("send_transaction_to_wallet", "succeeded")
        value = response(tab, "tool_result")["value"]
        assert value["status"] == "confirmed"
        receipt = chain.call("eth_getTransactionReceipt", value["transaction_hash"])
        assert value["contract_address"] == to_checksum_address(receipt["contractAddress"])
        assert int(chain.call("eth_call", {"to": value["contract_address"]}, "latest"), 16) == 42
        assert sent(tab) == chain.nonce(account) == 1
