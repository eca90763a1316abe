"""Gates: feature flags that hide a tool while it stays registered.

A gate is a sync callable, or a string: `env:NAME` reads an environment variable, any other name a flag in the settings
(`Settings.gates`, or `CALLBOARD_GATE_<NAME>`), where an unset flag is closed.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ..errors import RegistrationError

Gate: TypeAlias = str | Callable[[], bool]

_FALSE = frozenset({"", "0", "false", "no", "off"})


def is_open(gate: Gate | None, flags: Mapping[str, bool]) -> bool:
    """Whether the tool behind a gate is visible. A gate that raises is closed."""
    if gate is None:
        return True
    if isinstance(gate, str):
        if gate.startswith("env:"):
            return os.environ.get(gate.removeprefix("env:"), "").lower() not in _FALSE
        return flags.get(gate, flags.get(gate.lower(), False))
    try:
        return gate() is True
    except Exception:
        return False


def gate_label(gate: Gate | None) -> str | None:
    """Return the name of a gate for the manifest."""
    if gate is None or isinstance(gate, str):
        return gate
    return getattr(gate, "__qualname__", type(gate).__qualname__)


def check_gate(gate: Gate | None) -> None:
    """Raise `RegistrationError` for a value that is no gate."""
    if gate is not None and not (callable(gate) or (isinstance(gate, str) and gate)):
        raise RegistrationError(f"A gate must be the name of a flag, 'env:NAME' or a callable, not {gate!r}.")
    if inspect.iscoroutinefunction(gate):
        raise RegistrationError("A gate cannot be an async function: its result is needed synchronously.")
