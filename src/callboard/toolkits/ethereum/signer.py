"""The key for development chains: signs transactions of the server itself. The key is never displayed."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from callboard import ToolError


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """A transaction that is ready to be sent. Its hash is known before that, so that it can be stored first."""

    hash: str
    nonce: int
    raw: str = field(repr=False)


class DevelopmentSigner:
    """Signs with a private key that was made for development chains. Raises `ToolError` if the key is not valid."""

    def __init__(self, key: str) -> None:
        try:
            self._account: Any = _accounts().from_key(key)
        except Exception:  # many kinds, with the key in their texts
            raise ToolError(
                "The key for development chains is not valid. It must be 32 bytes as hexadecimal digits.",
                category="configuration",
            ) from None

    @property
    def address(self) -> str:
        """The address of the account."""
        return str(self._account.address)

    def sign(self, fields: Mapping[str, Any]) -> SignedTransaction:
        """Sign a transaction with its `nonce`, `chainId`, gas and fees."""
        signed = self._account.sign_transaction(dict(fields))
        return SignedTransaction(
            hash=f"0x{bytes(signed.hash).hex()}",
            nonce=int(fields["nonce"]),
            raw=f"0x{bytes(signed.raw_transaction).hex()}",
        )


def _accounts() -> Any:
    """Import the library for accounts, which takes seconds.

    A package that it loads raises the limit of recursion for the whole process, so far that hostile JSON would crash
    the interpreter. The limit is set back.
    """
    limit = sys.getrecursionlimit()
    try:
        from eth_account import Account
    finally:
        sys.setrecursionlimit(limit)
    return Account
