"""The choice of a model by its name."""

import re
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from ..errors import CallboardError


class ModelUnavailable(CallboardError):
    """The model is unknown, or a key or package for it is missing."""

    code = "model"


def choose_model(model: Any) -> Model:
    """Find the model of a name, such as `anthropic:…`. A model of Pydantic AI is returned as it is.

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
