"""The origin of an exception: a file and a line in the user's code, as text without folders.

Frames of the standard library, of installed packages and of Callboard are not the user's code.
"""

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

_LIBRARIES = tuple(f"{folder}{os.sep}" for folder in (Path(os.__file__).parent, Path(__file__).parents[1]))
_PACKAGES = {"site-packages", "dist-packages"}


def line_in_user_code(trace: TracebackType | None) -> str | None:
    """Return the last line of a traceback in the user's code, or None."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(trace)]
    return next((_place(file, line) for file, line in reversed(lines) if _is_users(file)), None)


def origin_of(traces: Sequence[TracebackType], function: Callable[..., Any] | None = None) -> str:
    """Return where an exception was raised, for operators. `traces` are that of its cause, if any, and its own.

    That is the last line in the user's code. If there is none, as for a result of a wrong type, it is the definition of
    `function` in the user's code, or else the innermost line.
    """
    for trace in traces:
        if (line := line_in_user_code(trace)) is not None:
            return line
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    if code is not None and _is_users(code.co_filename):
        return f"{code.co_name} in {_place(code.co_filename, code.co_firstlineno)}"
    *_, (frame, number) = walk_tb(traces[0])
    return _place(frame.f_code.co_filename, number)


def _is_users(file: str) -> bool:
    return not file.startswith(("<", *_LIBRARIES)) and _PACKAGES.isdisjoint(Path(file).parts)


def _place(file: str, line: int) -> str:
    return f"{Path(file).name}, line {line}"
