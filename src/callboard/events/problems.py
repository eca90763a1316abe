"""Problems of a posted event: the path, a message, and the value there, shortened.

The text of these errors is bounded and printable whatever the event holds, and so is the work of finding the problems.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from ..errors import CallboardError
from ..types import Violation

MAX_DEPTH = 100
"""The deepest nesting of lists and objects. Every JSON decoder has a limit, and some have a low one."""
TOO_DEEP = f"It is nested too deeply: at most {MAX_DEPTH} lists and objects may lie in each other."
MAX_PROBLEMS = 20
MAX_SHOWN = 100
"""The most characters of a value that are shown."""
MAX_SEARCHED = 10_000
"""The most values that are searched for the invalid one."""

Path: TypeAlias = tuple[int | str, ...]

_CONTAINERS = (Mapping, list, tuple)


class EventInvalid(CallboardError):
    """An event does not have the shape of its kind. `problems` lists at most `MAX_PROBLEMS` problems."""

    code = "event_invalid"

    def __init__(self, *problems: Violation, more: int = 0) -> None:
        self.problems = list(problems)
        lines = [_line(problem) for problem in problems]
        if more:
            lines.append(f"- and {more:,} more")
        super().__init__("The event is not valid:\n" + "\n".join(lines))


class EventTooLarge(EventInvalid):
    """An event is larger than the limit."""

    code = "event_too_large"

    def __init__(self, size: int, limit: int) -> None:
        message = f"It is too large: {size:,} bytes as JSON, and at most {limit:,} are taken."
        super().__init__(Violation(path="", message=message, received=None))
        self.size = size
        self.limit = limit


def problem(path: Path, message: str, value: Any) -> Violation:
    """Return the problem of a value."""
    return Violation(path=_path_text(path), message=message, received=_received(value))


def shape_error(error: ValidationError, names: Iterable[str]) -> EventInvalid:
    """Return the error for an event that does not have the shape of its kind, whose fields have these names."""
    entries = error.errors(include_url=False)
    shown = [_shape_problem(dict(entry), names) for entry in entries[:MAX_PROBLEMS]]
    return EventInvalid(*shown, more=len(entries) - len(shown))


def json_error(event: Mapping[Any, Any], otherwise: str = "Something in it cannot be written as JSON.") -> EventInvalid:
    """Return the error for an event with a value that JSON cannot represent, or that not every decoder accepts.

    `otherwise` is the message if the value is not among the first `MAX_SEARCHED`.
    """
    for path, value in islice(_walk(event), MAX_SEARCHED):
        if path and isinstance(path[-1], str) and not _is_json(path[-1]):
            return EventInvalid(problem(path[:-1], "It has a name that is not valid Unicode.", path[-1]))
        if isinstance(value, _CONTAINERS):
            if len(path) >= MAX_DEPTH:
                return EventInvalid(Violation(path=_path_text(path), message=TOO_DEEP, received=None))
        elif not _is_json(value):
            return EventInvalid(problem(path, _reason(value), value))
    return EventInvalid(Violation(path="", message=otherwise, received=None))


def quoted(text: str) -> str:
    """Return a text of any length and content, quoted and shortened for a message."""
    rest = f" … ({len(text):,} characters)" if len(text) > MAX_SHOWN else ""
    return f"{text[:MAX_SHOWN]!r}{rest}"


def _shape_problem(entry: dict[str, Any], names: Iterable[str]) -> Violation:
    """Return an error of Pydantic as a problem."""
    path = cast("Path", entry["loc"])
    match entry["type"]:
        case "missing":
            return Violation(path=_path_text(path), message="This field is required.", received=None)
        case "extra_forbidden" if len(path) == 1:
            message = f"There is no such field. Its kind has: {', '.join(names)}."
        case "extra_forbidden":
            message = "There is no such field."
        case "value_error":
            message = f"This cannot be: {entry['ctx']['error']}."
        case _:
            message = f"{entry['msg']}."
    return problem(path, message, entry["input"])


def _walk(event: Any) -> Iterator[tuple[Path, Any]]:
    """Yield every value of an event with its path, in order."""
    pending: list[Iterator[tuple[Path, Any]]] = [iter([((), event)])]
    while pending:
        for path, value in pending[-1]:
            yield path, value
            if isinstance(value, _CONTAINERS):
                pending.append(_children(path, value))
                break
        else:
            pending.pop()


def _children(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        return (((*path, str(key)), child) for key, child in cast("Mapping[Any, Any]", value).items())
    return (((*path, index), child) for index, child in enumerate(cast("Sequence[Any]", value)))


def _is_json(value: Any) -> bool:
    try:
        from_json(to_json(value), allow_inf_nan=False)
    except (PydanticSerializationError, ValueError, RecursionError):
        return False
    return True


def _reason(value: Any) -> str:
    match value:
        case str():
            return "It is not valid Unicode: it has a lone surrogate."
        case float():
            return "It is not a finite number; JSON has no other."
        case int():
            return "It has more digits than can be read back."
        case _:
            return f"A {type(value).__name__} cannot be written as JSON."


def _line(found: Violation) -> str:
    received = "" if found["received"] is None else f" Received: {found['received']}"
    return f"- {found['path'] or 'event'}: {found['message']}{received}"


def _path_text(path: Path) -> str:
    """Return a path such as `payload.lines[0]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return _shortened("".join(parts).removeprefix("."))


def _received(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    try:
        return _shortened(to_json(value).decode())
    except (PydanticSerializationError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def _shortened(text: str) -> str:
    """Return the beginning of a text, with unprintable characters escaped."""
    rest = f" … ({len(text):,} characters)" if len(text) > MAX_SHOWN else ""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text[:MAX_SHOWN]) + rest
