"""Validation problems in a form that a model can act on: path, message, received value."""

import math
from collections.abc import Container, Iterable, Sequence
from itertools import islice
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from ..errors import ToolError
from ..schemas.secrets import MASK
from ..shortening import quoted, shorten
from ..types import JSONSchema, Violation
from .locations import Path, path_in

MAX_PROBLEMS = 20
"""Problems that an error message lists."""
MANY_PROBLEMS = 1_000
"""Errors of a validator that are processed. Of arguments with more, a sample is validated again."""
UNDECLARED = ("extra_forbidden", "unexpected_keyword_argument")
"""Kinds of errors about a property that does not exist, of models and of dataclasses."""
REQUIRED = "This property is required and was not given."


def validation_error(tool: str, problems: Sequence[Violation], total: int = 0) -> ToolError:
    """Make the error that lists the first `MAX_PROBLEMS` problems. `total` is their number, if some are left out."""
    listed = list(problems[:MAX_PROBLEMS])
    lines = [f"- {problem['path'] or 'arguments'}: {problem['message']}" for problem in listed]
    if (more := max(total, len(problems)) - len(listed)) > 0:
        lines.append(f"- and {more:,} more" if lines else f"- there are {more:,} problems")
    message = f"The arguments of {tool} are not valid. Correct them and call again:\n" + "\n".join(lines)
    return ToolError(message, category="validation", details=listed)


def problems_of(
    error: ValidationError,
    *,
    reveal: bool = True,
    names: Container[str] | None = None,
    document: Any = None,
    schema: JSONSchema | None = None,
) -> list[Violation]:
    """Convert the errors of Pydantic. Without `reveal`, received values are masked; with `names`, all other keys.

    With the document and its cleaned schema, paths have no names of branches of unions.
    """
    found: list[Violation] = []
    for entry in error.errors(include_url=False, include_context=True)[:MAX_PROBLEMS]:
        path = entry["loc"]
        if schema is not None:
            path = path_in(document, schema, path, is_missing=entry["type"] == "missing")
        found.append(_problem(dict(entry), path, reveal, names))
    return found


def sample_of(value: Any, keep: Container[str]) -> Any:
    """Take a sample of a large document: the first items of each list and object, and all keys in `keep`."""
    if isinstance(value, list):
        return [sample_of(each, ()) for each in cast("list[Any]", value)[:MAX_PROBLEMS]]
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        others = list(islice((key for key in given if key not in keep), MAX_PROBLEMS))
        wanted = [*(key for key in given if key in keep), *others]
        return {key: sample_of(given[key], ()) for key in wanted}
    return value


def _problem(entry: dict[str, Any], path: Path, reveal: bool, names: Container[str] | None) -> Violation:
    kind, message = str(entry["type"]), shorten(str(entry["msg"]), 1000)
    received: Any = abbreviate(entry.get("input"))
    if kind == "missing":
        message, received = REQUIRED, None
    elif kind in UNDECLARED:
        message = "There is no such property. Leave it out."
    elif kind == "json_invalid":
        received = None
    elif kind.endswith(("_parsing", "_from_float")):
        message = _expectation(message, "error" in entry.get("ctx", {}))
    if reveal and kind not in _COMPLETE:
        message = f"{message}, not {quoted(received)}."
    received = MASK if received is not None and not reveal else received
    return Violation(path=path_of(path, names), message=message, received=received)


def _expectation(message: str, has_reason: bool) -> str:
    """Shorten a message about a value that cannot be converted to what is expected, and Pydantic's reason if any."""
    expected, _, reason = message.partition(", ")
    return f"{expected} ({reason})" if has_reason and reason else expected


_COMPLETE = {"missing", *UNDECLARED, "json_invalid"}
"""Kinds of errors whose message says everything without the received value."""


def path_of(location: Iterable[int | str], names: Container[str] | None = None) -> str:
    """Format a location, such as `lines[0].sku`. With `names`, all other keys are masked."""
    parts = [part if isinstance(part, int) or names is None or part in names else MASK for part in location]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return shorten(path.lstrip("."))


def abbreviate(value: Any) -> Any:
    """Convert a received value to JSON data, cut if it is long."""
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
