"""The protocols that a server mounts by default."""

from .agui import AgUiMount
from .mcp import McpMount
from .mount import ProtocolMount


def standard_mounts() -> list[ProtocolMount]:
    """Create the mounts of one application."""
    return [AgUiMount(), McpMount()]
