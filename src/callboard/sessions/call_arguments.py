"""Arguments and priorities of calls, from the forms in which callers give them."""

from typing import Any

from ..errors import ToolError
from ..execution.execution import Priority
from ..spelling import known_names
from ..tools.document import encode
from ..types import Wake


def parse_priority(name: str) -> Priority:
    """Return the priority of that name. Raises `ValueError`."""
    try:
        return Priority[name.upper()]
    except KeyError:
        names = ", ".join(priority.name.lower() for priority in Priority)
        raise ValueError(f"{name!r} is not a priority. Use one of: {names}.") from None


def parse_wake(name: Wake | str) -> Wake:
    """Return the effect of late results of that name. Raises `ValueError`."""
    try:
        return Wake(name)
    except ValueError:
        raise ValueError(f"wake is {name!r}. {known_names(str(name), Wake)}") from None


def encode_arguments(arguments: Any) -> bytes:
    """Return arguments, given as data or as JSON text, as JSON bytes. Raises `ToolError` (validation)."""
    if isinstance(arguments, str):
        try:
            return arguments.encode()
        except UnicodeEncodeError:
            raise ToolError(
                "The arguments contain a lone surrogate, which is not valid Unicode.", category="validation"
            ) from None
    return encode({} if arguments is None else arguments)
