"""Errors of nodes, named as what they are: reverted, nonce, funds, gas, limits. Pure functions.

Nodes agree neither on codes nor on words. The words of a node may contain keys or instructions, so a model sees only
the names here; the words are in the report for operators.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from callboard import ToolError

from .abi import Abi
from .revert import Revert, decode_revert

LIMIT_EXCEEDED = -32005
METHOD_MISSING = (-32601, -32004)
INVALID_PARAMETERS = (-32602, -32600)
NODE_FAULTS = (-32603, -32002, -32011, -32012, -32013)
"""Codes of a node or its gateway that failed: internal error, too slow, no or no healthy backend, a bad response."""
MAX_REPORT = 300

_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


class _Rule(NamedTuple):
    """A pattern of the words of nodes, and the error that it stands for."""

    pattern: re.Pattern[str]
    name: str
    category: str
    message: str
    is_safe: bool = False
    """Whether nothing was done, so that another attempt is safe."""


def _rule(pattern: str, name: str, category: str, message: str, *, is_safe: bool = False) -> _Rule:
    return _Rule(re.compile(pattern, re.IGNORECASE), name, category, message, is_safe)


_INVALID_EXECUTION = _rule(
    r"invalid ?(fe ?)?opcode|opcode ?not ?found|stack ?(under|over)flow|invalid ?jump",  # anvil: InvalidFEOpcode
    "invalid_execution",
    "execution",
    "The contract executed an invalid instruction.",
)
_RULES = (
    _INVALID_EXECUTION,
    _rule(
        r"nonce (is )?too low|already been used|oldnonce",
        "nonce_too_low",
        "transient",
        "The nonce of the transaction is too low: another transaction of this account was sent with it.",
        is_safe=True,
    ),
    _rule(
        r"nonce (is )?too high|nonce gap",
        "nonce_too_high",
        "permanent",
        "The nonce of the transaction is too high: transactions before it are missing.",
    ),
    _rule(
        r"replacement|underpriced",
        "underpriced",
        "permanent",
        "A transaction with this nonce is waiting already, and the fee is too low to replace it.",
    ),
    _rule(
        r"insufficient funds|enough funds|insufficient balance for transfer",
        "insufficient_funds",
        "permanent",
        "The account has not enough funds for the value and the fee of the transaction.",
    ),
    _rule(
        r"max fee per gas less|baseFeePerGas|fee cap less|gasprice .*too low",
        "fee_too_low",
        "permanent",
        "The fee per gas is lower than the base fee of the block.",
    ),
    _rule(
        r"intrinsic gas too low|requires at least \d+ gas|out of gas|gas required exceeds|gas limit",
        "gas",
        "permanent",
        "The gas limit is too low for the transaction, or higher than a block allows.",
    ),
    _rule(
        r"header not found|unknown block|block not found|missing trie node|state (is )?not available|pruned"
        r"|invalid block tag|historical state|BlockOutOfRange",
        "block_not_available",
        "not_found",
        "The node has no state for this block. Use a newer block, or latest.",
    ),
    _rule(
        r"query returned more than|block range|too many results|response size",
        "range_too_large",
        "validation",
        "The node refuses a query of this size. Ask for less.",
    ),
)
_EXECUTION = re.compile(r"\bE?VM\b")
_REVERT = re.compile(r"revert", re.IGNORECASE)
_RATE = re.compile(r"rate limit|too many requests|limit exceeded|exceeded .*(quota|capacity|compute)", re.IGNORECASE)
_KNOWN = re.compile(r"already known|\bknown transaction|already imported", re.IGNORECASE)


class Reverted(ToolError):
    """A contract reverted a call. `data` is what it returned."""

    def __init__(self, data: bytes, revert: Revert) -> None:
        details = {"error": "reverted", "revert": revert.model_dump(exclude_defaults=True)}
        super().__init__(f"The contract reverted: {revert.reason}.", category="execution", details=details)
        self.data = data

    def explained(self, abis: Iterable[Abi]) -> "Reverted":
        """Return the error with its reason decoded by these ABIs."""
        return Reverted(self.data, decode_revert(self.data, abis))


class AlreadyKnown(ToolError):
    """A node has the transaction already, so it was sent before."""


class NodeFault(ToolError):
    """A node failed. Its error says nothing about the request, which another node may answer."""


def name_error(method: str, error: Mapping[str, Any], *, has_failed: bool = False) -> ToolError:
    """Make the error for the `error` of a JSON-RPC response.

    `has_failed` says that the status of the response is that of a failed node: then only words that have a name, such
    as those of a revert, are about the request. Everything else is a `NodeFault`.
    """
    code, text = error.get("code"), str(error.get("message"))[:2_000]
    report = f"{method}: JSON-RPC error {str(code)[:20]}: {text[:MAX_REPORT]}"
    data = revert_data(error)
    is_revert = code == 3 or bool(data) or (_REVERT.search(text) and not _RATE.search(text))
    if is_revert and (data or not _INVALID_EXECUTION.pattern.search(text)):
        return Reverted(data or b"", decode_revert(data or b""))
    if code == LIMIT_EXCEEDED or code == 429 or _RATE.search(text):
        return rate_limited(report=report)
    if _KNOWN.search(text):
        return AlreadyKnown("The node has this transaction already.", category="permanent", report=report)
    for rule in _RULES:
        if rule.pattern.search(text):
            details, retryable = {"error": rule.name}, True if rule.is_safe else None
            return ToolError(rule.message, category=rule.category, details=details, report=report, retryable=retryable)
    if has_failed or (code in NODE_FAULTS and not _EXECUTION.search(text)):
        return NodeFault("The nodes of this chain are not available.", category="transient", report=report)
    if code in METHOD_MISSING:
        message = f"The node does not support {method}."
        return ToolError(message, category="configuration", details={"error": "unsupported"}, report=report)
    if code in INVALID_PARAMETERS:
        message = f"The node refuses the parameters of {method}."
        return ToolError(message, category="validation", details={"error": "invalid_parameters"}, report=report)
    message = f"The node refuses {method}."
    return ToolError(message, category="permanent", details={"error": "refused"}, report=report)


def rate_limited(retry_after: float | None = None, report: str | None = None) -> ToolError:
    """Make the error for a node that limits its requests."""
    return ToolError(
        "The nodes of this chain limit their requests.",
        category="rate_limited",
        details={"error": "rate_limited"},
        retry_after=retry_after,
        report=report,
    )


def revert_data(error: Mapping[str, Any]) -> bytes | None:
    """Find the data of a revert, which nodes place differently. None if there is none."""
    found: Any = error.get("data")
    for _ in range(3):
        if isinstance(found, str):
            text = found.removeprefix("Reverted ").strip()
            return bytes.fromhex(text[2:]) if _HEX.fullmatch(text) else None
        if not isinstance(found, dict):
            return None
        fields = cast("dict[str, Any]", found)
        found = next((fields[name] for name in ("data", "result", "return", "output") if name in fields), None)
    return None
