"""What is wrong with a call's arguments, in a form that a model can act on: path, message, the value received."""

import math
from collections.abc import Container, Iterable, Sequence
from itertools import islice
from typing import Any, TypedDict, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from ..errors import ToolError
from ..schemas.secrets import MASK
from ..shortening import shorten

MAX_PROBLEMS = 20
"""How many problems are shown."""
MANY_PROBLEMS = 1_000
"""How many errors of a validator are looked at; of arguments with more, only a part is validated again."""
REQUIRED = "This property is required and was not given."


class Problem(TypedDict):
    """One thing that is wrong, and where."""

    path: str
    message: str
    received: Any


def validation_error(tool: str, problems: Sequence[Problem], total: int = 0) -> ToolError:
    """The error that lists the problems. At most `MAX_PROBLEMS` are shown: a model fixes the first ones first.

    `total` is how many there are, where that is more than were given.
    """
    shown = list(problems[:MAX_PROBLEMS])
    lines = [f"- {problem['path'] or 'arguments'}: {problem['message']}" for problem in shown]
    if (more := max(total, len(problems)) - len(shown)) > 0:
        lines.append(f"- and {more:,} more" if lines else f"- there are {more:,} problems")
    message = f"The arguments of {tool} are not valid. Correct them and call again:\n" + "\n".join(lines)
    return ToolError(message, category="validation", details=shown)


def problems_of(error: ValidationError, *, reveal: bool = True, names: Container[str] | None = None) -> list[Problem]:
    """The problems that Pydantic found. Without `reveal` the received values, some of which are secret, are masked.

    With `names`, so are all keys that are not among them.
    """
    entries = error.errors(include_url=False, include_context=True)
    return [_problem(dict(entry), reveal, names) for entry in entries[:MAX_PROBLEMS]]


def excerpt_of(value: Any, keep: Container[str]) -> Any:
    """A part of a document that has many problems, which has some of them: the first items of each list and object.

    `keep` are keys that are never left out.
    """
    if isinstance(value, list):
        return [excerpt_of(each, ()) for each in cast("list[Any]", value)[:MAX_PROBLEMS]]
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        others = list(islice((key for key in given if key not in keep), MAX_PROBLEMS))
        wanted = [*(key for key in given if key in keep), *others]
        return {key: excerpt_of(given[key], ()) for key in wanted}
    return value


def _problem(entry: dict[str, Any], reveal: bool, names: Container[str] | None) -> Problem:
    kind, message = str(entry["type"]), shorten(str(entry["msg"]), 1000)
    received: Any = shown(entry.get("input"))
    if kind == "missing":
        message, received = REQUIRED, None
    elif kind == "extra_forbidden":
        message = "There is no such property. Leave it out."
    elif kind == "json_invalid":
        received = None
    elif reveal:
        message = f"{message}, not {_words(received)}."
    received = MASK if received is not None and not reveal else received
    path = path_of(cast("tuple[int | str, ...]", entry["loc"]), names)
    return Problem(path=path, message=message, received=received)


def path_of(location: Iterable[int | str], names: Container[str] | None = None) -> str:
    """A location as people write it: `lines[0].sku`. With `names`, keys that are not among them are masked."""
    shown = [part if isinstance(part, int) or names is None or part in names else MASK for part in location]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in shown)
    return shorten(path.lstrip("."))


def shown(value: Any) -> Any:
    """A received value as JSON data, cut where it is long."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return shorten(value)
    try:
        text = to_json(value, inf_nan_mode="strings").decode()
    except (PydanticSerializationError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"
    return from_json(text) if len(text) <= 200 else shorten(text)


def _words(value: Any) -> str:
    if value is None:
        return "null"
    return shorten(repr(value) if isinstance(value, str) else str(value), 80)
