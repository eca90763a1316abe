"""The `mcp` toolkit: the tools of MCP servers as tools here. It needs the extras `mcp` and `dynamic`.

`mcp_toolset` connects one server, `mcp_toolsets` those of a file in the common `mcpServers` form. `oauth_login` and
`oauth_credentials` log in to a server.
"""

from .oauth import oauth_credentials, oauth_login
from .server_file import mcp_toolsets
from .toolset import McpToolset, mcp_toolset

__all__ = ["McpToolset", "mcp_toolset", "mcp_toolsets", "oauth_credentials", "oauth_login"]
