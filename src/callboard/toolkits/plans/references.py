"""References in the operations of a plan to results of earlier ones: `{{token.0.contract_address}}`. No I/O.

The first part is the name of a group, the second the number of its operation, and the rest the path in its result. A
text that is nothing but a reference becomes the value itself; within other text, a reference becomes text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from pydantic_core import to_json

from callboard import ToolError

from .graph import Group

REFERENCE = r"\{\{[A-Za-z0-9_-]{1,64}\.[0-9]{1,2}(\.[A-Za-z0-9_-]{1,64}){0,8}\}\}"
_REFERENCE = re.compile(REFERENCE)


class Reference(NamedTuple):
    """A reference to a part of a result."""

    group: str
    operation: int
    path: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Reference":
        """Read `{{group.operation.path}}`."""
        group, operation, *path = text[2:-2].split(".")
        return cls(group, int(operation), tuple(path))

    def __str__(self) -> str:
        return f"{{{{{'.'.join((self.group, str(self.operation), *self.path))}}}}}"


def check_references(groups: Sequence[Group[Any]]) -> None:
    """Refuse references to results that do not exist when the operation runs. Raises `ToolError` (validation)."""
    by_name = {group.name: group for group in groups}
    for number, group in enumerate(groups):
        before = _all_dependencies(group, by_name)
        for place, operation in enumerate(group.operations):
            for path, reference in _references(operation.model_dump(mode="json")):
                where = f"groups[{number}].operations[{place}]{path}: {reference}"
                if reference.group == group.name:
                    if reference.operation >= place:
                        raise _refused(f"{where} is the result of this operation or of a later one.")
                elif reference.group not in before:
                    raise _refused(f"{where} needs {reference.group!r} among the dependencies of {group.name!r}.")
                elif reference.operation >= (count := len(by_name[reference.group].operations)):
                    raise _refused(f"{where} does not exist: the group has {count} operations, counted from 0.")


def resolve(value: Any, results: Mapping[str, Sequence[Any]]) -> Any:
    """Replace the references in a JSON value by results. Raises `ToolError` (validation) if one has no such part."""

    def replace(text: str) -> Any:
        if _REFERENCE.fullmatch(text):
            return _look_up(Reference.parse(text), results)
        return _REFERENCE.sub(lambda match: _as_text(_look_up(Reference.parse(match[0]), results)), text)

    return _mapped(value, replace)


def _look_up(reference: Reference, results: Mapping[str, Sequence[Any]]) -> Any:
    found: Any = results[reference.group][reference.operation]
    for name in reference.path:
        if isinstance(found, dict) and name in found:
            found = cast("dict[str, Any]", found)[name]
        elif isinstance(found, list) and name.isdigit() and int(name) < len(cast("list[Any]", found)):
            found = cast("list[Any]", found)[int(name)]
        else:
            raise _refused(f"The result of {reference.group}.{reference.operation} has no {name!r} ({reference}).")
    return found


def _mapped(value: Any, replace: Callable[[str], Any]) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [_mapped(each, replace) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _mapped(each, replace) for key, each in cast("dict[str, Any]", value).items()}
    return value


def _references(value: Any, path: str = "") -> Iterator[tuple[str, Reference]]:
    if isinstance(value, str):
        for match in _REFERENCE.finditer(value):
            yield path, Reference.parse(match[0])
    elif isinstance(value, list):
        for place, each in enumerate(cast("list[Any]", value)):
            yield from _references(each, f"{path}[{place}]")
    elif isinstance(value, dict):
        for key, each in cast("dict[str, Any]", value).items():
            yield from _references(each, f"{path}.{key}")


def _all_dependencies(group: Group[Any], by_name: Mapping[str, Group[Any]]) -> set[str]:
    found: set[str] = set()
    pending = list(group.dependencies)
    for name in pending:  # grows during the walk
        if name not in found:
            found.add(name)
            pending += by_name[name].dependencies
    return found


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()


def _refused(message: str) -> ToolError:
    return ToolError(message, category="validation")
