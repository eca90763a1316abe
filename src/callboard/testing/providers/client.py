"""Import of Pydantic AI and the providers' SDKs, which come with the extra `chat`.

They are imported for the first model only, so that a double can serve other clients without them.
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
