"""HTTP clients that a double makes and owns, for models that use the provider's own SDK.

Pydantic AI and the SDKs come with the extra `chat`. They are imported for the first model only, so that a double can
serve other clients without them.
"""

import warnings
from importlib import import_module
from typing import Any

from ...errors import CallboardError


class ChatMissing(CallboardError):
    """A model needs Pydantic AI or an SDK that is not installed."""

    code = "chat_missing"

    def __init__(self, missing: str) -> None:
        super().__init__(f"A model for a double needs {missing}: install callboard[chat].")


def import_optional(module: str) -> Any:
    """Import an optional module. Raises `ChatMissing`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # syntax warnings of third-party modules on first compilation
            return import_module(module)
    except ImportError as error:
        raise ChatMissing(error.name or module) from error


class HttpClients:
    """HTTP clients that ignore environment variables, so that no request goes through a proxy."""

    def __init__(self) -> None:
        self._open: list[Any] = []

    def make(self) -> Any:
        # Connections to a double are not encrypted, and loading certificates would take a tenth of a second.
        client = import_optional("httpx2").AsyncClient(trust_env=False, verify=False, timeout=60)
        self._open.append(client)
        return client

    async def close(self) -> None:
        """Close every client."""
        while self._open:
            await self._open.pop().aclose()
