"""The example `deploy_token`, as a person sees it: a real server, browser, chain and compiler.

The wallet is a double that signs with a key of the development chain.
"""

import json
import re
import shlex
import signal
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.conftest import without
from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab
from tests.server.browser.wallets import CONNECTED, FACTS, STATE, connect, install, reject, sent, sign, wallet
from tests.servers import Unavailable
from tests.toolkits.development_chain import ACCOUNTS, CHAIN_ID, DevelopmentChain, compiler_command, development_chain

APP = Path(__file__).parents[3] / "examples" / "deploy_token" / "app.py"
REQUEST = "Deploy an ERC-20 called TEST, send 100 to Bob, and tell me the balances"
ANN, BOB = ACCOUNTS[:2]
TRANSFER = f"{FACTS}.call?.includes({json.dumps(BOB)})"
"""Whether the page asks for the transfer to Bob."""


@pytest.fixture
def chain() -> Generator[DevelopmentChain]:
    try:
        with development_chain() as made:
            yield made
    except Unavailable as why:
        without("A development chain", why)


@pytest.fixture
def example(browser: Browser, chain: DevelopmentChain, tmp_path: Path) -> Generator[Serving]:
    """The example, not started yet."""
    try:
        compiler = shlex.join(compiler_command())
    except Unavailable as why:
        without("The Solidity compiler", why)
    fields = {"rpc_urls": [chain.url], "development": True, "poll_seconds": 0.05}
    chains = json.dumps({CHAIN_ID: fields})
    environment = {"CALLBOARD_ETHEREUM_CHAINS": chains, "CALLBOARD_ETHEREUM_COMPILER": compiler}
    with Serving(tmp_path / "served", script=str(APP), **environment) as made:
        yield made


def token_balance(chain: DevelopmentChain, token: str, holder: str) -> int:
    """Return a balance in whole tokens, as the chain says."""
    data = f"0x70a08231{int(holder, 16):064x}"
    return int(chain.call("eth_call", {"to": token, "data": data}, "latest"), 16) // 10**18


def test_k3_token_is_deployed_and_sent_although_the_person_rejects_once_and_the_server_is_killed(
    chain: DevelopmentChain, example: Serving, tabs: Callable[..., Tab]
) -> None:
    tab, before = tabs(), chain.nonce(ANN)
    install(tab, wallet(accounts=[ANN], chainId=CHAIN_ID, **CONNECTED), node=chain.url)
    tab.open(example.start())

    tab.say(REQUEST)
    tab.until("seen($('.wallet .facts'))")
    assert tab.see(FACTS)["to"] == "Creates a new contract"
    assert "Deploy the token TEST: create the contract Token" in tab.see("$('.wallet').innerText")
    connect(tab)
    sign(tab)

    tab.until(TRANSFER)
    tab.push("Sign with Fox")
    reject(tab, "eth_sendTransaction")
    tab.until_model_said("The person rejected the transaction", "Shall I try again?")
    assert chain.nonce(ANN) == before + 1

    tab.say("Yes, try again.")
    tab.until(TRANSFER)
    assert "Deploy the token TEST" in tab.see("last('.partials .fields').innerText"), "the finished group is shown"
    with chain.without_mining():
        sign(tab)
        tab.until(f"{STATE}.includes('Waiting for a block')")
        example.stop(signal.SIGKILL)
        assert chain.nonce(ANN) == before + 1, "it is broadcast, and not mined"
        example.start()
    chain.mine()

    said = tab.until_model_said("The balances are")
    token, ann, bob = re.findall(r"token is at (0x\w{40})\..*You: (\d+) TEST.*Bob: (\d+) TEST", said, re.DOTALL)[0]
    assert [int(ann), int(bob)] == [token_balance(chain, token, each) for each in (ANN, BOB)] == [999_900, 100]
    assert chain.nonce(ANN) == int(chain.call("eth_getTransactionCount", ANN, "pending"), 16) == before + 2
    assert sent(tab) == 3, "two were sent, and one was rejected"
    tab.until("last('#timeline .model .report')?.textContent === 'about Execute plan'")
