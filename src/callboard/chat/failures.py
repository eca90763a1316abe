"""Messages for people about failed turns. The log has the details for operators."""

import logging

from pydantic_ai import exceptions
from pydantic_ai.exceptions import ModelAPIError

from ..errors import CallboardError
from ..storage.errors import StoreError
from .completion import EmptyResponse

log = logging.getLogger("callboard.chat")

_REASONS: tuple[tuple[type[ModelAPIError], str], ...] = (  # specific errors come before general ones
    (exceptions.ModelAuthenticationError, "the provider rejects the key"),
    (exceptions.ModelNotFoundError, "the provider has no model of this name"),
    (exceptions.ModelContextWindowExceededError, "the conversation exceeds the context window of the model"),
    (exceptions.ModelQuotaExceededError, "the quota at the provider is used up"),
    (exceptions.ModelRateLimitError, "the provider limits the rate of requests. Try again later"),
    (exceptions.ModelUnavailableError, "the provider is overloaded. Try again later"),
    (exceptions.ModelServerError, "the provider has an internal error. Try again later"),
    (exceptions.ModelTimeoutError, "the provider did not answer in time. Try again"),
    (exceptions.ModelRequestTimeout, "the provider did not answer in time. Try again"),
    (exceptions.ModelConnectionError, "the provider cannot be reached"),
    (exceptions.ModelRequestRejectedError, "the provider rejects the request"),
)


def reason_of(error: Exception) -> str:
    """The message for people about the error that ended a turn."""
    if isinstance(error, StoreError):  # its message has the address of the store, which is for operators only
        log.error("a turn failed: %s", error)
        return "The store cannot be used at the moment. Try again."
    if isinstance(error, CallboardError):
        return str(error)
    if isinstance(error, exceptions.FallbackExceptionGroup):  # all models failed: the last one says why
        return [reason_of(each) for each in error.exceptions][-1]
    if isinstance(error, EmptyResponse):
        log.error("a turn failed: %s", error)
        return f"The request to the model failed: {error}."
    if isinstance(error, ModelAPIError):  # an error of the provider: a traceback would not help
        log.error("a request to the model %s failed: %s: %s", error.model_name, type(error).__name__, error)
        for kind, reason in _REASONS:
            if isinstance(error, kind):
                return f"The request to the model failed: {reason}."
    else:
        log.error("a turn failed", exc_info=error)
    return f"The request to the model failed ({type(error).__name__})."
