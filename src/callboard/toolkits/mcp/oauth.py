"""OAuth for MCP servers with a URL: the SDK's flows, as `auth` of `mcp_toolset`.

`oauth_login` lets a person log in, in a browser, `oauth_credentials` uses the credentials of a program. The SDK finds
the authorization server, registers the client, and refreshes the tokens.
"""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, BaseModel, ValidationError

from callboard import RegistrationError

Authorize = Callable[[str], Awaitable[str]]
"""Opens the page of an authorization server. Returns the URL to which it redirects at the end, with its query."""


class _Stored(BaseModel):
    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None
    server: str | None = None
    """URL of the server. Files of older versions have none."""


class Tokens:
    """Tokens and the registration of the client, in memory, or in a file that only its owner can read.

    A client that is given replaces the stored one. What was stored for another client or server is not used.
    """

    def __init__(
        self, path: Path | None, client: OAuthClientInformationFull | None = None, server: str | None = None
    ) -> None:
        self._path = path
        self._stored = _Stored()
        if path is not None and path.exists():
            try:
                self._stored = _Stored.model_validate_json(path.read_bytes())
            except (OSError, ValidationError) as error:
                raise RegistrationError(f"The tokens in {path} cannot be read: {error}") from None
        stored = self._stored
        if stored.server not in (None, server):
            self._stored = _Stored()
        elif client is not None and (stored.client is None or stored.client.client_id != client.client_id):
            stored.tokens = None
        self._stored.client = client or self._stored.client
        self._stored.server = server

    async def get_tokens(self) -> OAuthToken | None:
        return self._stored.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._stored.tokens = tokens
        self._write()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._stored.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._stored.client = client_info
        self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(self._stored.model_dump_json(exclude_none=True))
        new.replace(self._path)


def oauth_login(
    server: str,
    authorize: Authorize,
    *,
    redirect_uri: str,
    scope: str | None = None,
    tokens: str | Path | None = None,
    client_id: str | None = None,
    client_secret: str | None = None,
    client_metadata_url: str | None = None,
) -> httpx2.Auth:
    """Log in with the authorization code flow. `server` is the URL of the MCP server.

    `authorize` opens the page of the authorization server, and returns the URL to which it redirects: `redirect_uri`
    with a query. `tokens` is a file that keeps the tokens over restarts. The client registers itself, unless it has a
    `client_id` or, if the server supports it, the URL of its metadata. Raises `RegistrationError`.
    """
    redirected: list[str] = []

    async def redirect(url: str) -> None:
        redirected[:] = [await authorize(url)]

    async def callback() -> AuthorizationCodeResult:
        query = {name: values[0] for name, values in parse_qs(urlsplit(redirected.pop()).query).items()}
        if "code" not in query:
            reason = query.get("error_description") or query.get("error") or "there is no code in the redirect"
            raise OAuthFlowError(f"the login failed: {reason[:500]}")
        return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))

    method = None if client_id is None else "none" if client_secret is None else "client_secret_basic"
    uris = [AnyUrl(redirect_uri)]
    known = client_id and OAuthClientInformationFull(
        client_id=client_id, client_secret=client_secret, redirect_uris=uris, token_endpoint_auth_method=method
    )
    try:
        return OAuthClientProvider(
            server,
            OAuthClientMetadata(client_name="Callboard", redirect_uris=uris, scope=scope),
            Tokens(None if tokens is None else Path(tokens), known or None, server),
            redirect,
            callback,
            client_metadata_url,
        )
    except ValueError as error:
        raise RegistrationError(f"The login for the MCP server cannot be used: {error}.") from None


def oauth_credentials(
    server: str, *, client_id: str, client_secret: str, issuer: str, scope: str | None = None
) -> httpx2.Auth:
    """Use the credentials of a program (the client credentials grant). They are sent to `issuer` only.

    Raises `RegistrationError`.
    """
    try:
        return ClientCredentialsOAuthProvider(
            server, Tokens(None), client_id=client_id, client_secret=client_secret, scope=scope, issuer=issuer
        )
    except ValueError as error:
        raise RegistrationError(f"The credentials for the MCP server cannot be used: {error}.") from None
