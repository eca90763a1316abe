"""Translation of a store that does not answer to an error for the model."""

from collections.abc import Generator
from contextlib import contextmanager

from ..errors import ErrorCategory, ToolError
from ..storage.errors import StoreUnavailable


@contextmanager
def available(what: str) -> Generator[None]:
    """Raise `ToolError` (transient) if the store does not answer. `what` begins it: `The notes are`."""
    try:
        yield
    except StoreUnavailable as error:
        raise ToolError(
            f"{what} not available at the moment. Try again later.",
            category=ErrorCategory.TRANSIENT,
            report=str(error),
        ) from error
