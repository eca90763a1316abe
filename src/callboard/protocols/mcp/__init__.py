"""The Model Context Protocol: a session's tools for any MCP client, over HTTP and over standard streams.

The SDK `mcp` speaks the protocol, in all its revisions; this package connects it to sessions. Importing this package
does not import the SDK, which takes a second: `McpMount` imports it at the first request, `callboard mcp` at its start.
"""

from .endpoint import McpMount

__all__ = ["McpMount"]
