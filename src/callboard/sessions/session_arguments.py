"""Arguments of the public methods of a session, checked where you give them."""

from typing import Any

from ..checks import Check
from ..events.routing import Family
from ..execution.outcome import Outcome
from ..execution.record import ExecutionRecord
from ..spelling import known_names
from .open_request import OpenRequest

check = Check(TypeError)


def id_of(given: Any) -> Any:
    """Return an id as it is. Raises `TypeError` for the outcome, record or request that has it."""
    if isinstance(given, Outcome | ExecutionRecord | OpenRequest):
        own = given.execution_id if isinstance(given, Outcome) else given.id
        raise TypeError(f"This takes an id, not an object of the class {type(given).__name__}: give {own!r}.")
    return given


def family_of(name: Family | str | None) -> Family | None:
    """Return the family of that name; None for all events. Raises `ValueError`."""
    if name is None:
        return None
    try:
        return Family(name)
    except ValueError:
        raise ValueError(f"There is no family {name!r}. {known_names(str(name), Family)}") from None
