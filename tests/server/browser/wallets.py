"""Doubles of wallets in a tab. `wallet_double.js` has the wallets and the chain; a test plays the person."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

SOURCE = (Path(__file__).parent / "wallet_double.js").read_text()
ME = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
OTHER = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
SEPOLIA = 11155111
ICON = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'>"
    "<rect width='8' height='8' rx='2' fill='%23f6851b'/><circle cx='4' cy='4' r='2' fill='white'/></svg>"
)
TO = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
SEND = "send 0.01 ETH to Ada"
CONNECTED: dict[str, Any] = {"obliging": ["eth_requestAccounts"]}
FACTS = """Object.fromEntries($$('.wallet [data-fact]').map((each) => [each.dataset.fact, each.innerText]))"""
BUTTONS = "$$('.wallet button').filter(seen).map((each) => each.textContent.trim())"
STATE = "$$('.wallet .state').map((each) => each.textContent).join(' ')"
TOOLS = """
from typing import Annotated, Any
from callboard import Registry, tool
from callboard.sessions.answers import WalletResponse

@tool(mode="human", asks="wallet_tx_request", answer=WalletResponse)
async def send(
    to: Annotated[str | None, "To"], value: Annotated[str, "Wei"], data: Annotated[str, "Data"],
    description: Annotated[str, "What for"], chain_id: Annotated[int | None, "Network"] = None,
    from_address: Annotated[str | None, "Sender"] = None, gas_limit: Annotated[int | None, "Gas"] = None,
    abi: Annotated[list[dict[str, Any]] | None, "ABI"] = None, confirmations: Annotated[int | None, "How many"] = None,
) -> WalletResponse:
    "Send a transaction."
    raise NotImplementedError

registry = Registry([send])
"""


def wallet(name: str = "Fox", rdns: str = "org.example.fox", **options: Any) -> dict[str, Any]:
    """Describe a wallet on the test network Sepolia with one account, which the page may not see yet."""
    return {"name": name, "rdns": rdns, "icon": ICON, "accounts": [ME], "chainId": SEPOLIA, **options}


def install(tab: Tab, *wallets: dict[str, Any], node: str | None = None) -> None:
    """Give a tab wallets, from its next page on. Their chain is that of a node, or a fake one."""
    chain = "fakeChain()" if node is None else f"remoteChain({json.dumps(node)})"
    source = f"{SOURCE}\ninstallWallets({json.dumps(wallets)}, {chain});"
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=source)
    if node is not None:
        tab.call("Page.setBypassCSP", enabled=True)  # a real wallet talks to its node outside of the page


def confirm(tab: Tab, method: str) -> None:
    """Confirm a question of the wallet, as soon as it is asked."""
    _await_question(tab, method)
    tab.see("void walletDouble.confirm()")


def reject(tab: Tab, method: str, code: int = 4001, message: str = "User rejected the request.") -> None:
    """Refuse a question of the wallet, or have it end with another error."""
    _await_question(tab, method)
    tab.see(f"void walletDouble.reject({code}, {json.dumps(message)})")


def mine(tab: Tab, *, failing: bool = False) -> None:
    """Add a block to the chain."""
    tab.see(f"void walletDouble.mine({json.dumps(failing)})")


def sent(tab: Tab) -> int:
    """Return how often a wallet was asked to send, in all tabs and before all reloads."""
    return tab.see("walletDouble.count('eth_sendTransaction')")


def _await_question(tab: Tab, method: str) -> None:
    tab.until(f"walletDouble.questions[0]?.method === {json.dumps(method)}")


@contextmanager
def serving_wallet_tool(folder: Path) -> Generator[Serving]:
    """Start a server whose tool takes any fields of a wallet request."""
    with Serving(folder, "--tools", "wallet_tools:registry") as made:
        (folder / "wallet_tools.py").write_text(TOOLS)
        made.start()
        yield made


def ask(tab: Tab, url: str) -> None:
    """Have the offline model ask for a transaction."""
    tab.open(url)
    tab.say(SEND)
    tab.until("seen($('.wallet .facts'))")


def call(tab: Tab, server: Serving, tool: str = "send", **fields: Any) -> None:
    """Call a tool with fields of a wallet request, from the page."""
    arguments = {"to": TO, "value": "1000", "data": "0x", "description": "Rent", "chain_id": 11155111, **fields}
    tab.open(server.url)
    for path, body in {
        "/api/sessions": {"session_id": "s1"},
        "/api/executions": {"session_id": "s1", "tool": tool, "arguments": arguments},
    }.items():
        options = {"method": "POST", "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
        tab.see(f"fetch({json.dumps(path)}, {json.dumps(options)}).then(() => null)")
    tab.open(f"{server.url}/?session=s1")
    tab.until("seen($('.wallet .facts'))")


def connect(tab: Tab, name: str = "Fox") -> None:
    tab.push(f"Connect {name}")


def sign(tab: Tab, name: str = "Fox") -> None:
    """Press the button, and confirm in the wallet."""
    tab.push(f"Sign with {name}")
    confirm(tab, "eth_sendTransaction")


def response(tab: Tab, kind: str = "wallet_tx_response") -> dict[str, Any]:
    """Return the only answer on the board, or the only event of another kind."""
    path = "/api/events?session_id=${new URLSearchParams(location.search).get('session')}&limit=500"
    events: list[dict[str, Any]] = tab.see(f"fetch(`{path}`).then((response) => response.json())")["events"]
    (found,) = [each["data"] for each in events if each["kind"] == kind]
    return found
