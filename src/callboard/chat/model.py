"""Which model a runtime talks to: the one that a name means, or an error that says what is missing for it."""

import re
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from ..errors import CallboardError


class ModelUnavailable(CallboardError):
    """The model that was asked for cannot be had."""

    code = "model"


def choose_model(model: Any) -> Model:
    """The model of a name, such as `anthropic:…`; one of Pydantic AI's as it is.

    Raises `ModelUnavailable`, which names the environment variable or the package that is missing.
    """
    try:
        return infer_model(model)
    except UserError as error:
        if missing := re.search(r"`([A-Z][A-Z0-9_]+)`", str(error)):
            message = f"The model {model!r} needs a key: set the environment variable {missing[1]}."
        else:
            message = f"There is no model {model!r}. Give it as PROVIDER:NAME, such as anthropic:claude-…, or offline."
        raise ModelUnavailable(message) from error
    except ImportError as error:
        package = re.search(r"`([\w-]+)`", str(error))
        needed = f"the package {package[1]}" if package else "a package"
        raise ModelUnavailable(f"The model {model!r} needs {needed}, which is not installed.") from error
