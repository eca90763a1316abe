"""What is logged while a command runs, said as one line each and without tracebacks."""

import contextlib
import logging
from collections.abc import Callable, Generator
from typing import Any, cast


@contextlib.contextmanager
def logs_said(say: Callable[[str], Any]) -> Generator[None, None, None]:
    """Have warnings and errors said, where nobody has set logging up; where somebody has, theirs is used."""
    before = logging.lastResort
    logging.lastResort = cast(Any, _Said(say))
    try:
        yield
    finally:
        logging.lastResort = before


def described(error: BaseException) -> str:
    """An exception in one line; of a group, its first."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}".rstrip(": .")


class _Said(logging.Handler):
    def __init__(self, say: Callable[[str], Any]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        if hasattr(record, "execution_id"):  # a failed call, which is on the board
            return
        error = record.exc_info[1] if record.exc_info else None
        self._say(record.getMessage() + ("" if error is None else f": {described(error)}"))
