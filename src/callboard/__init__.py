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
    from .storage.errors import StoreError as StoreError
    from .storage.errors import StoreOutdated as StoreOutdated
    from .storage.errors import StoreUnavailable as StoreUnavailable
    from .storage.errors import StoreUnconfirmed as StoreUnconfirmed
    from .toolkits.mcp.toolset import mcp_toolset as mcp_toolset
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
    from .types import RequestPurpose as RequestPurpose
    from .user_documents import DocumentChanged as DocumentChanged

__version__ = "0.1.0"

_NAMES = {
    "categories": ("ErrorTable",),
    "chat.toolset": ("toolset",),
    "errors": (
        "CallboardError",
        "ErrorCategory",
        "MissingExtraError",
        "RegistrationError",
        "RuntimeNotOpen",
        "SchemaError",
        "SettingsError",
        "ToolError",
    ),
    "events.board": ("CursorExpired",),
    "events.event": ("Event",),
    "events.posting": ("PostingRefused",),
    "events.problems": ("EventInvalid",),
    "execution.limits": ("Limits",),
    "execution.outcome": ("Outcome",),
    "runtime": ("Runtime",),
    "sessions.answers": ("AnswerInvalid", "ArgumentsMismatch"),
    "sessions.ids": ("CallIdInvalid", "SessionIdInvalid", "SessionNotFound"),
    "sessions.open_request": ("OpenRequest",),
    "sessions.requests": ("RequestClosed",),
    "sessions.session": ("Session",),
    "settings": ("Settings",),
    "storage.errors": ("StoreError", "StoreOutdated", "StoreUnavailable", "StoreUnconfirmed"),
    "toolkits.mcp.toolset": ("mcp_toolset",),
    "tools.context": ("ToolContext",),
    "tools.definition": ("Tool",),
    "tools.dynamic": ("dynamic_tool",),
    "tools.function": ("tool",),
    "tools.policies": ("BackoffStrategy", "BreakerPolicy", "RetryPolicy"),
    "tools.registry": ("Registry",),
    "tools.snapshot": ("Snapshot",),
    "tools.toolset": ("LocalToolset", "Toolset"),
    "turns": ("Turn", "TurnLimits"),
    "types": ("RequestPurpose",),
    "user_documents": ("DocumentChanged",),
}
"""Public names by the module that defines them."""

_OPTIONAL = {"toolset": ("A toolset for Pydantic AI", "chat"), "mcp_toolset": ("A toolset of an MCP server", "mcp")}
"""Names that need an optional package: what they are, and the extra."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if (home := _HOMES.get(name)) is None:
        raise AttributeError(f"module 'callboard' has no attribute {name!r}")
    try:
        value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("callboard") or name not in _OPTIONAL:
            raise
        from .errors import MissingExtraError

        raise MissingExtraError(*_OPTIONAL[name]) from missing
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
