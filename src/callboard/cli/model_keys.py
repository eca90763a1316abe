"""The API keys of the providers that the extra `chat` installs, to miss one before their SDKs are imported.

Importing an SDK takes seconds. The chat layer checks the key of every provider, and has the last word.
"""

import os

from .process import CommandError

_KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openai-chat": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openai-responses": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
}
"""Environment variables by provider name. A provider needs one of its variables."""


def check_key(model: str) -> None:
    """Raise `CommandError` if the environment has no API key for a model, such as `anthropic:…`."""
    variables = _KEYS.get(model.partition(":")[0]) if ":" in model else None
    if variables is not None and not any(name in os.environ for name in variables):
        raise CommandError(f"The model {model!r} needs an API key: set the environment variable {variables[0]}.")
