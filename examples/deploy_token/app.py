"""A server that deploys a token, sends some of it, and tells the balances. The person's wallet signs.

Run `python app.py`, and open the address that it prints. See README.md for the chain, the compiler and the wallet.
"""

import argparse
import os
import sys
from pathlib import Path

from plan import token_plan
from scripted_model import scripted_model

from callboard import CallboardError, Registry
from callboard.server.launch import LaunchOptions, launch
from callboard.toolkits.ethereum import Chain, EthereumToolset, ethereum_plan_tools, ethereum_toolset

SOURCE = (Path(__file__).parent / "Token.sol").read_text()
LOCAL = Chain(31337, ("http://127.0.0.1:8545",), name="Development", development=True, poll_seconds=1.0)
ANN, BOB = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
"""The first two accounts of every development chain."""
INSTRUCTIONS = """\
You work on the chain {chain_id}. The user's account is {account}, and Bob's account is {bob}.
To deploy contracts or send transactions, set a plan with set_execution_plan, then call execute_plan. Sign with the
wallet ("broadcast": "wallet"). When the result of the plan arrives, tell the user what was done. If a group failed, say
why, and ask whether to try again; to try again, call execute_plan with the same plan_id.
For an ERC-20 token, use this source code:

{source}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--store", default="sqlite:///deploy_token.db")
    parser.add_argument(
        "--model", default=os.environ.get("CALLBOARD_MODEL"), help="such as anthropic:claude-sonnet-5-5"
    )
    parser.add_argument("--account", default=ANN, help="the account of your wallet")
    parser.add_argument("--bob", default=BOB, help="the account of Bob")
    options = parser.parse_args()

    toolset = chosen_toolset()
    chain_id = next(iter(toolset.client.chains))
    plan = token_plan(chain_id, options.account, options.bob, SOURCE)
    names = {options.account.lower(): "You", options.bob.lower(): "Bob"}
    served = LaunchOptions(
        host="127.0.0.1",
        port=options.port,
        store=options.store,
        model=options.model or scripted_model(plan, names),
        instructions=INSTRUCTIONS.format(chain_id=chain_id, account=options.account, bob=options.bob, source=SOURCE),
        tools=Registry([toolset, *ethereum_plan_tools(toolset.client)]),
        workers=toolset.workers,
    )
    launch(served, lambda address, _: print(f"Open {address} in a browser with your wallet.", flush=True))


def chosen_toolset() -> EthereumToolset:
    """Make the tools for the chains of the environment, or for a development chain on this machine."""
    return ethereum_toolset() if os.environ.get("CALLBOARD_ETHEREUM_CHAINS") else ethereum_toolset([LOCAL])


if __name__ == "__main__":
    try:
        main()
    except CallboardError as error:
        sys.exit(str(error))
