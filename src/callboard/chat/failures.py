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
from ..storage.errors import StoreError

log = logging.getLogger("callboard.chat")

_REASONS: tuple[tuple[type[ModelAPIError], str], ...] = (  # specific errors come before general ones
    (ModelAuthenticationError, "the provider rejects the key"),
    (ModelNotFoundError, "the provider has no model of this name"),
    (ModelContextWindowExceededError, "the conversation exceeds the context window of the model"),
    (ModelQuotaExceededError, "the quota at the provider is used up"),
    (ModelRateLimitError, "the provider limits the rate of requests. Try again later"),
    (ModelUnavailableError, "the provider is overloaded. Try again later"),
    (ModelServerError, "the provider has an internal error. Try again later"),
    (ModelTimeoutError, "the provider did not answer in time. Try again"),
    (ModelRequestTimeout, "the provider did not answer in time. Try again"),
    (ModelConnectionError, "the provider cannot be reached"),
    (ModelRequestRejectedError, "the provider rejects the request"),
)


def reason_of(error: Exception) -> str:
    """The message for people about the error that ended a turn."""
    if isinstance(error, StoreError):  # its message has the address of the store, which is for operators only
        log.error("a turn failed: %s", error)
        return "The store cannot be used at the moment. Try again."
    if isinstance(error, CallboardError):
        return str(error)
    if isinstance(error, ModelAPIError):  # an error of the provider: a traceback would not help
        log.error("a request to the model %s failed: %s: %s", error.model_name, type(error).__name__, error)
        for kind, reason in _REASONS:
            if isinstance(error, kind):
                return f"The request to the model failed: {reason}."
    else:
        log.error("a turn failed", exc_info=error)
    return f"The request to the model failed ({type(error).__name__})."
