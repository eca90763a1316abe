"""Gates: feature flags that hide a tool's schema while its handler stays registered.

A gate is a callable that answers now. A string in a definition is short for one: `env:NAME` looks at the environment,
any other name at the settings (`Settings.gates`, or `CALLBOARD_GATE_<NAME>`), where a flag that nobody set is closed.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ..errors import RegistrationError

Gate: TypeAlias = str | Callable[[], bool]

_FALSE = frozenset({"", "0", "false", "no", "off"})


def is_open(gate: Gate | None, flags: Mapping[str, bool]) -> bool:
    """Whether the tool behind this gate is shown. A gate that raises is closed: an unknown answer shows nothing."""
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
    """The gate as people read it in a manifest."""
    if gate is None or isinstance(gate, str):
        return gate
    return getattr(gate, "__qualname__", type(gate).__qualname__)


def check_gate(gate: Gate | None) -> None:
    """Refuse what can be neither looked up nor called."""
    if gate is not None and not (callable(gate) or (isinstance(gate, str) and gate)):
        raise RegistrationError(f"A gate is a flag's name, 'env:NAME' or a callable, not {gate!r}.")
    if inspect.iscoroutinefunction(gate):
        raise RegistrationError("A gate answers at once: it cannot be an async function, which would always look open.")
