"""Messages for people about failed turns. The log has the details for operators."""

import logging

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
)

from ..errors import CallboardError
from ..storage.port import StoreError

log = logging.getLogger("callboard.chat")

_REASONS: tuple[tuple[type[ModelAPIError], str], ...] = (  # specific errors come before general ones
    (ModelAuthenticationError, "its provider refuses the key that is set for it"),
    (ModelNotFoundError, "its provider has no model of that name"),
    (ModelContextWindowExceededError, "the conversation is longer than it can read"),
    (ModelQuotaExceededError, "the account at its provider is used up"),
    (ModelRateLimitError, "its provider is asked too often at the moment. Try again later"),
    (ModelUnavailableError, "its provider is overloaded at the moment. Try again later"),
    (ModelServerError, "its provider has a fault. Try again later"),
    (ModelTimeoutError, "its provider did not answer in time. Try again"),
    (ModelRequestTimeout, "its provider did not answer in time. Try again"),
    (ModelConnectionError, "its provider cannot be reached"),
    (ModelRequestRejectedError, "its provider refuses what it was sent"),
)


def reason_of(error: Exception) -> str:
    """The message for people about the error that ended a turn."""
    if isinstance(error, StoreError):  # its message has the address of the store, which is for operators only
        log.error("a turn failed: %s", error)
        return "The store cannot be used at the moment. Try again."
    if isinstance(error, CallboardError):
        return str(error)
    if isinstance(error, ModelAPIError):  # an error of the provider: a traceback would not help
        log.error("the model %s could not be asked: %s: %s", error.model_name, type(error).__name__, error)
        for kind, reason in _REASONS:
            if isinstance(error, kind):
                return f"The model could not be asked: {reason}."
    else:
        log.error("a turn failed", exc_info=error)
    return f"The model could not be asked ({type(error).__name__})."
