"""Callboard: a runtime for the tools of AI agents.

The public names. Each is loaded when it is first used, so that `import callboard` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .categories import ErrorTable as ErrorTable
    from .chat.toolset import toolset as toolset
    from .errors import CallboardError as CallboardError
    from .errors import ErrorCategory as ErrorCategory
    from .errors import MissingExtraError as MissingExtraError
    from .errors import RegistrationError as RegistrationError
    from .errors import RuntimeNotOpen as RuntimeNotOpen
    from .errors import SchemaError as SchemaError
    from .errors import SettingsError as SettingsError
    from .errors import ToolError as ToolError
    from .events.board import CursorExpired as CursorExpired
    from .events.event import Event as Event
    from .events.posting import PostingRefused as PostingRefused
    from .events.problems import EventInvalid as EventInvalid
    from .execution.limits import Limits as Limits
    from .execution.outcome import Outcome as Outcome
    from .runtime import Runtime as Runtime
    from .sessions.answers import AnswerInvalid as AnswerInvalid
    from .sessions.answers import ArgumentsMismatch as ArgumentsMismatch
    from .sessions.ids import CallIdInvalid as CallIdInvalid
    from .sessions.ids import SessionIdInvalid as SessionIdInvalid
    from .sessions.ids import SessionNotFound as SessionNotFound
    from .sessions.open_request import OpenRequest as OpenRequest
    from .sessions.requests import RequestClosed as RequestClosed
    from .sessions.session import Session as Session
    from .settings import Settings as Settings
    from .storage.port import StoreError as StoreError
    from .storage.port import StoreOutdated as StoreOutdated
    from .storage.port import StoreUnavailable as StoreUnavailable
    from .storage.port import StoreUnconfirmed as StoreUnconfirmed
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
    "AnswerInvalid": "sessions.answers",
    "ArgumentsMismatch": "sessions.answers",
    "BackoffStrategy": "tools.policies",
    "BreakerPolicy": "tools.policies",
    "CallIdInvalid": "sessions.ids",
    "CallboardError": "errors",
    "CursorExpired": "events.board",
    "ErrorCategory": "errors",
    "ErrorTable": "categories",
    "Event": "events.event",
    "EventInvalid": "events.problems",
    "Limits": "execution.limits",
    "LocalToolset": "tools.toolset",
    "MissingExtraError": "errors",
    "OpenRequest": "sessions.open_request",
    "Outcome": "execution.outcome",
    "PostingRefused": "events.posting",
    "RegistrationError": "errors",
    "Registry": "tools.registry",
    "RequestClosed": "sessions.requests",
    "RetryPolicy": "tools.policies",
    "Runtime": "runtime",
    "RuntimeNotOpen": "errors",
    "SchemaError": "errors",
    "Session": "sessions.session",
    "SessionIdInvalid": "sessions.ids",
    "SessionNotFound": "sessions.ids",
    "Settings": "settings",
    "SettingsError": "errors",
    "Snapshot": "tools.snapshot",
    "StoreError": "storage.port",
    "StoreOutdated": "storage.port",
    "StoreUnavailable": "storage.port",
    "StoreUnconfirmed": "storage.port",
    "Tool": "tools.definition",
    "ToolContext": "tools.context",
    "ToolError": "errors",
    "Toolset": "tools.toolset",
    "Turn": "turns",
    "TurnLimits": "turns",
    "dynamic_tool": "tools.dynamic",
    "tool": "tools.function",
    "toolset": "chat.toolset",
}

__all__ = [
    "AnswerInvalid",
    "ArgumentsMismatch",
    "BackoffStrategy",
    "BreakerPolicy",
    "CallIdInvalid",
    "CallboardError",
    "CursorExpired",
    "ErrorCategory",
    "ErrorTable",
    "Event",
    "EventInvalid",
    "Limits",
    "LocalToolset",
    "MissingExtraError",
    "OpenRequest",
    "Outcome",
    "PostingRefused",
    "RegistrationError",
    "Registry",
    "RequestClosed",
    "RetryPolicy",
    "Runtime",
    "RuntimeNotOpen",
    "SchemaError",
    "Session",
    "SessionIdInvalid",
    "SessionNotFound",
    "Settings",
    "SettingsError",
    "Snapshot",
    "StoreError",
    "StoreOutdated",
    "StoreUnavailable",
    "StoreUnconfirmed",
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
        if name != "toolset":  # the only name that needs an optional package
            raise
        from .errors import MissingExtraError

        raise MissingExtraError("A toolset for Pydantic AI", "chat") from missing
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
