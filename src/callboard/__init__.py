"""Callboard: a runtime for the tools of AI agents.

The public face. Names are loaded when they are first used, so that `import callboard` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .categories import ErrorTable as ErrorTable
    from .chat.toolset import toolset as toolset
    from .errors import CallboardError as CallboardError
    from .errors import ErrorCategory as ErrorCategory
    from .errors import RegistrationError as RegistrationError
    from .errors import SchemaError as SchemaError
    from .errors import ToolError as ToolError
    from .events.event import Event as Event
    from .execution.limits import Limits as Limits
    from .execution.outcome import Outcome as Outcome
    from .runtime import Runtime as Runtime
    from .sessions.session import Session as Session
    from .settings import Settings as Settings
    from .tools.context import ToolContext as ToolContext
    from .tools.definition import Tool as Tool
    from .tools.dynamic import dynamic_tool as dynamic_tool
    from .tools.function import tool as tool
    from .tools.policies import BackoffStrategy as BackoffStrategy
    from .tools.policies import BreakerPolicy as BreakerPolicy
    from .tools.policies import RetryPolicy as RetryPolicy
    from .tools.registry import Registry as Registry
    from .tools.snapshot import Snapshot as Snapshot
    from .tools.toolset import LocalToolset as LocalToolset
    from .tools.toolset import Toolset as Toolset
    from .turns import Turn as Turn
    from .turns import TurnLimits as TurnLimits

__version__ = "0.1.0"

_HOMES = {
    "BackoffStrategy": "tools.policies",
    "Limits": "execution.limits",
    "Session": "sessions.session",
    "Runtime": "runtime",
    "Outcome": "execution.outcome",
    "Event": "events.event",
    "BreakerPolicy": "tools.policies",
    "CallboardError": "errors",
    "ErrorCategory": "errors",
    "ErrorTable": "categories",
    "LocalToolset": "tools.toolset",
    "Registry": "tools.registry",
    "RegistrationError": "errors",
    "RetryPolicy": "tools.policies",
    "SchemaError": "errors",
    "Settings": "settings",
    "Snapshot": "tools.snapshot",
    "Tool": "tools.definition",
    "ToolContext": "tools.context",
    "ToolError": "errors",
    "Toolset": "tools.toolset",
    "dynamic_tool": "tools.dynamic",
    "tool": "tools.function",
    "Turn": "turns",
    "TurnLimits": "turns",
    "toolset": "chat.toolset",
}

__all__ = [
    "BackoffStrategy",
    "BreakerPolicy",
    "CallboardError",
    "ErrorCategory",
    "ErrorTable",
    "Event",
    "Limits",
    "LocalToolset",
    "Outcome",
    "RegistrationError",
    "Registry",
    "RetryPolicy",
    "Runtime",
    "SchemaError",
    "Session",
    "Settings",
    "Snapshot",
    "Tool",
    "ToolContext",
    "ToolError",
    "Toolset",
    "Turn",
    "TurnLimits",
    "dynamic_tool",
    "tool",
    "toolset",
]


def __getattr__(name: str) -> Any:
    if (home := _HOMES.get(name)) is None:
        raise AttributeError(f"module 'callboard' has no attribute {name!r}")
    try:
        value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    except ModuleNotFoundError as missing:
        if name != "toolset":  # which alone needs more than the base
            raise
        from .errors import MissingExtraError

        raise MissingExtraError("A toolset for Pydantic AI", "chat") from missing
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
