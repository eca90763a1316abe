"""The choice of a model by its name."""

import os
import re
from importlib import import_module
from typing import Any, cast

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from ..addresses import split_address, without_password
from ..errors import CallboardError


class ModelUnavailable(CallboardError):
    """The model is unknown, or a key or package for it is missing."""

    code = "model"


def choose_model(model: Any) -> Model:
    """Find the model of a name, such as `anthropic:…`. A model of Pydantic AI is returned as it is.

    Raises `ModelUnavailable`, which names the environment variable or the package that is missing.
    """
    if not isinstance(model, Model | str):
        raise ModelUnavailable(f"model is {model!r}; it must be a name, such as 'offline', or a model of Pydantic AI.")
    try:
        return infer_model(cast("Model | str", model))
    except UserError as error:
        if missing := re.search(r"`([A-Z][A-Z0-9_]+)`", str(error)):
            message = f"The model {model!r} needs an API key: set the environment variable {missing[1]}."
        else:
            message = f"There is no model {model!r}. Give it as PROVIDER:NAME, such as anthropic:claude-…, or offline."
        raise ModelUnavailable(message) from error
    except ImportError as error:
        package = re.search(r"`([\w-]+)`", str(error))
        needed = f"the package {package[1]}" if package else "a package"
        raise ModelUnavailable(f"The model {model!r} needs {needed}, which is not installed.") from error


def compatible_model(name: str, base_url: str) -> Model:
    """Make a model of a server that speaks OpenAI's Chat Completions protocol, such as Ollama, vLLM or llama.cpp.

    `name` is the server's own name of the model; `openai:` before it is left out. The API key is that of
    `OPENAI_API_KEY`, if it is set. Raises `ModelUnavailable`.
    """
    address = split_address(base_url, "The base URL", ModelUnavailable)
    shown = without_password(base_url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ModelUnavailable(f"{shown!r} is not the URL of a server. An example: http://localhost:11434/v1")
    if name == "offline":
        raise ModelUnavailable(f"Name the model that {shown} serves, such as --model openai:llama3.2")
    try:
        models, providers = (import_module(f"pydantic_ai.{each}.openai") for each in ("models", "providers"))
    except ImportError as error:
        raise ModelUnavailable("A base URL needs the package openai, which is not installed.") from error
    key = os.environ.get("OPENAI_API_KEY") or "none"  # the client refuses an empty one
    provider = providers.OpenAIProvider(base_url=base_url, api_key=key)
    return models.OpenAIChatModel(re.sub("^(openai|openai-chat|ollama):", "", name), provider=provider)
