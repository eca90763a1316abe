"""The environment variables that Callboard reads, to find those that are misspelt."""

from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module

from ..settings import GATE_PREFIX, PREFIX, Settings

_OPTIONS = ("HOST", "PORT", "MODEL", "STORE")
"""Those of the command line's own options."""
_TESTS = ("TEST_POSTGRES", "CRASH_SEED")
"""Those of the tests."""


def known_variables() -> set[str]:
    """All that have a meaning, without the gates, which may be called anything.

    Raises `ModuleNotFoundError` where the server, which has some of its own, is not installed.
    """
    config = import_module("callboard.server.identity").IdentityConfig
    settings = {each.name.upper() for each in (*fields(Settings), *fields(config))} - {"GATES"}
    return {PREFIX + name for name in (*settings, *_OPTIONS, *_TESTS)}


def unknown_variables(names: Iterable[str]) -> dict[str, str | None]:
    """Those of these names that nothing reads, each with the known one that it is nearest to."""
    known = known_variables()
    strange = [name for name in names if name.startswith(PREFIX) and name not in known]
    return {name: _nearest(name, known) for name in strange if not name.startswith(GATE_PREFIX)}


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """By what follows the prefix, which all of them share."""
    ends = [each.removeprefix(PREFIX) for each in known]
    found = get_close_matches(name.removeprefix(PREFIX), ends, n=1)
    return PREFIX + found[0] if found else None
