"""The connections that a double makes for models that ask it through the provider's own SDK, and owns.

Pydantic AI and the SDKs come with the extra `chat`. They are loaded when the first model is asked for, so that a double
can serve any other client without them.
"""

import warnings
from importlib import import_module
from typing import Any

from ...errors import CallboardError


class ChatMissing(CallboardError):
    """A model was asked for, and Pydantic AI is not installed."""

    code = "chat_missing"

    def __init__(self, missing: str) -> None:
        super().__init__(f"A model for a double needs {missing}: install callboard[chat].")


def load(module: str) -> Any:
    """An optional module. Raises `ChatMissing`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's opinion of the source of others, given when it is first compiled
            return import_module(module)
    except ImportError as error:
        raise ChatMissing(error.name or module) from error


class Client:
    """HTTP connections that take no settings from the environment, so that nothing is sent through a proxy."""

    def __init__(self) -> None:
        self._open: list[Any] = []

    def make(self) -> Any:
        # Nothing is encrypted on its way to a double; certificates would take a tenth of a second to load.
        client = load("httpx2").AsyncClient(trust_env=False, verify=False, timeout=60)
        self._open.append(client)
        return client

    async def close(self) -> None:
        """Close every connection that was made."""
        while self._open:
            await self._open.pop().aclose()
