"""The server as a protected resource of OAuth: the document in which clients find the authorization server (RFC 9728).

The server neither issues tokens nor registers clients. Its document names the servers that do.
"""

from collections.abc import Collection

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Scope

from .config import IdentityConfig
from .request_headers import single

WELL_KNOWN = "/.well-known/oauth-protected-resource"
MAX_AGE = 300
"""Seconds for which clients may cache the document."""


class ResourceMetadata:
    """The document of the server, and one for each path in `resources`, which is a resource of its own.

    There is none without an authorization server.
    """

    def __init__(self, config: IdentityConfig, resources: Collection[str]) -> None:
        self._config = config
        self._servers = config.authorization_servers
        self._paths = {WELL_KNOWN + path: path for path in ("", *resources)} if self._servers else {}

    def is_document(self, path: str) -> bool:
        """Return whether a path is that of a document."""
        return path in self._paths

    def response(self, scope: Scope, path: str) -> Response:
        """Return the document at a path."""
        document = {
            "resource": self._origin(scope) + self._paths[path],
            "authorization_servers": self._servers,
            "bearer_methods_supported": ["header"],
            "resource_name": "Callboard",
        }
        if self._config.jwt_scopes:
            document["scopes_supported"] = self._config.jwt_scopes
        headers = {"cache-control": f"public, max-age={MAX_AGE}", "vary": "host"}
        return Response(to_json(document), headers=headers, media_type="application/json")

    def challenge(self, scope: Scope, path: str) -> str:
        """Return the parameters of a challenge that refuses a request for a path."""
        if not self._servers:
            return ""
        document = WELL_KNOWN + path if WELL_KNOWN + path in self._paths else WELL_KNOWN
        found = f', resource_metadata="{self._origin(scope)}{document}"'
        return f'{found}, scope="{" ".join(self._config.jwt_scopes)}"' if self._config.jwt_scopes else found

    def _origin(self, scope: Scope) -> str:
        """Return the address of the server as a client sees it. The guard has checked the host."""
        if self._config.public_origin is not None:
            return self._config.public_origin
        return f"{scope.get('scheme', 'http')}://{single(scope['headers'], b'host')}"
