"""The plan for "Deploy an ERC-20 called TEST, send 100 to Bob, and tell me the balances", as a model writes it."""

import json
from typing import Any

SUPPLY = 1_000_000 * 10**18
CONTRACT = "{{token.0.contract_address}}"
"""Stands for the address of the deployed contract, which is known when the group `token` is done."""


def token_plan(chain_id: int, account: str, recipient: str, source_code: str) -> list[dict[str, Any]]:
    """Return the groups: deploy the token, send 100 to the recipient, read both balances."""
    wallet = {"chain_id": chain_id, "broadcast": "wallet", "from_address": account}

    def balance(holder: str) -> dict[str, Any]:
        arguments = {"chain_id": chain_id, "token_address": CONTRACT, "holder_address": holder}
        return {"kind": "call", "tool": "get_erc20_balance", "arguments": json.dumps(arguments)}

    return [
        {
            "name": "token",
            "description": "Deploy the token TEST",
            "contracts": [{"name": "Token", "source_code": source_code}],
            "operations": [
                {"kind": "deploy", "contract": "Token", "arguments": ["Test token", "TEST", str(SUPPLY)], **wallet}
            ],
        },
        {
            "name": "transfer",
            "description": "Send 100 TEST to Bob",
            "dependencies": ["token"],
            "operations": [
                {
                    "kind": "send",
                    "to": CONTRACT,
                    "function_signature": "transfer(address,uint256)",
                    "arguments": [recipient, str(100 * 10**18)],
                    **wallet,
                }
            ],
        },
        {
            "name": "balances",
            "description": "Read both balances",
            "dependencies": ["token", "transfer"],
            "operations": [balance(account), balance(recipient)],
        },
    ]
