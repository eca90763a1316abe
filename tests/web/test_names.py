"""An idea that is written once in Python and once in TypeScript has the same names in both."""

import re
from dataclasses import fields
from pathlib import Path

from callboard.errors import ErrorCategory
from callboard.events.kinds import TURN_ENDS, TURN_STOPS
from callboard.execution.breaker import COUNTED, Breaker, BreakerState
from callboard.execution.breakers import BreakerStatus
from callboard.tools.policies import BreakerPolicy
from callboard.tools.stats import Statistics

SOURCES = Path(__file__).parents[2] / "web" / "src"


def source(name: str, folder: str = "tools") -> str:
    return (SOURCES / folder / name).read_text()


def interface(file: str, name: str) -> set[str]:
    """Return the fields of an interface."""
    found = re.search(rf"export interface {name} {{(.*?)\n}}", source(file), re.DOTALL)
    assert found, name
    return set(re.findall(r"readonly (\w+)\??:", found[1]))


def union(file: str, name: str) -> set[str]:
    """Return the texts of a union."""
    found = re.search(rf"export type {name} =(.*?);", source(file), re.DOTALL)
    assert found, name
    return set(re.findall(r'\| "(\w+)"', found[1]))


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))


def test_w2_statistics_have_the_names_of_the_server() -> None:
    assert interface("tool-stats.ts", "Statistics") == {camel(name) for name in Statistics._fields}


def test_w2_breakers_have_the_names_of_the_server() -> None:
    assert union("breaker.ts", "BreakerState") == {state.value for state in BreakerState}
    assert interface("breaker.ts", "BreakerStatus") == {camel(name) for name in BreakerStatus._fields} - {
        "scope",  # a page has one user, and one breaker for each tool
        "target",
    }
    of_server = {camel(field.name) for field in fields(BreakerPolicy)}
    assert interface("types.ts", "BreakerPolicy") <= of_server
    methods = set(re.findall(r"^  (?:get )?(\w+)\(", source("breaker.ts"), re.MULTILINE)) - {"constructor"}
    public = {camel(name) for name in vars(Breaker) if not name.startswith("_")}
    assert methods <= {*public, "state"}


def test_w2_error_categories_are_those_of_the_server() -> None:
    categories = union("errors.ts", "ErrorCategory")
    assert categories <= {category.value for category in ErrorCategory}
    counted = re.search(r"const COUNTED[^=]*= new Set\(\[(.*?)\]\)", source("breaker.ts"), re.DOTALL)
    assert counted
    assert set(re.findall(r'"(\w+)"', counted[1])) == {category.value for category in COUNTED} & categories


def test_w2_kinds_that_end_or_pause_a_turn_are_those_of_the_server() -> None:
    found = dict(re.findall(r"const (TURN_\w+): .*? = new Set\(\[(.*?)\]\)", source("turn-kinds.ts", "api")))
    ends, stops = found["TURN_ENDS"], found["TURN_STOPS"]
    assert set(re.findall(r'"(\w+)"', ends)) == TURN_ENDS
    assert set(re.findall(r'"(\w+)"', stops.replace("...TURN_ENDS", ends))) == TURN_STOPS
