"""Checks of values that code passes to Callboard. An error says which value it is, what it is, and what it must be."""

import math
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Check:
    """Checks that raise one kind of error."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def seconds(self, name: str, value: Any, *, above: float | None = None, least: float | None = None) -> None:
        """Check a duration, which is finite or infinite, but no `timedelta`."""
        hint = f", such as {value.total_seconds():g}" if isinstance(value, timedelta) else ""
        self.number(name, value, f"a number of seconds{hint}", above=above, least=least)

    def number(
        self,
        name: str,
        value: Any,
        expected: str = "a number",
        *,
        above: float | None = None,
        least: float | None = None,
    ) -> None:
        """Check a number."""
        if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
            raise self._error(f"{name} is {value!r}; it must be {expected}.")
        self._range(name, value, above, least)

    def count(self, name: str, value: Any, *, above: int | None = None, least: int | None = None) -> None:
        """Check a whole number."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._error(f"{name} is {value!r}; it must be a whole number.")
        self._range(name, value, above, least)

    def flag(self, name: str, value: Any, *, optional: bool = False) -> None:
        """Check a boolean. Another value could be true where the caller means false, such as the text "no"."""
        if not (isinstance(value, bool) or (optional and value is None)):
            raise self._error(
                f"{name} is {value!r}; it must be {'True, False or None' if optional else 'True or False'}."
            )

    def text(self, name: str, value: Any, *, optional: bool = False) -> None:
        """Check a string, which is empty only if it is optional."""
        if not ((isinstance(value, str) and (value or optional)) or (optional and value is None)):
            raise self._error(
                f"{name} is {value!r}; it must be a {'string or None' if optional else 'non-empty string'}."
            )

    def texts(self, name: str, value: Any) -> tuple[str, ...]:
        """Check an iterable of strings, and return them. A string is an iterable of strings too, but a mistake."""
        if isinstance(value, str):
            raise self._error(f"{name} is the string {value!r}; it must be a list of strings.")
        return self.items(name, value, str, "a list of strings")

    def items(self, name: str, value: Any, kind: type[T], expected: str) -> tuple[T, ...]:
        """Check an iterable of objects of one class, and return them. A mapping or a string is no list."""
        made: Any = None
        if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
            made = tuple(cast("Iterable[Any]", value))
        if made is None or not all(isinstance(each, kind) for each in made):
            raise self._error(f"{name} is {value!r}; it must be {expected}.")
        return made

    def instance(self, name: str, value: Any, kind: type, *, optional: bool = True) -> None:
        """Check an object of a class of Callboard."""
        if not (isinstance(value, kind) or (optional and value is None)):
            title = kind.__name__
            raise self._error(f"{name} is {value!r}; it must be a {title}, as in {name}={title}(…).")

    def _range(self, name: str, value: float, above: float | None, least: float | None) -> None:
        if above is not None and value <= above:
            raise self._error(f"{name} is {value}; it must be above {above:g}.")
        if least is not None and value < least:
            raise self._error(f"{name} is {value}; it must be at least {least:g}.")
