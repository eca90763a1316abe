"""The SDK's OAuth client against a server that accepts tokens: from the first refusal to a call (H4, H5)."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl
from starlette.types import ASGIApp

from callboard import Runtime
from callboard.server.identity import IdentityConfig, guard
from tests.server.conftest import DEADLINE, serve
from tests.server.mcp.stage import Gates, tools

pytestmark = pytest.mark.anyio

ISSUER = "https://login.example.com"
AUDIENCE = "board"


class AuthorizationServer:
    """An authorization server that grants what is asked for."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.asked: dict[str, Any] = {}
        """The parameters of the last authorization."""

    @property
    def key_set(self) -> dict[str, Any]:
        return {"keys": [{**json.loads(ECAlgorithm.to_jwk(self._key.public_key())), "kid": "k1"}]}

    def respond(self, request: httpx2.Request) -> httpx2.Response:
        match request.url.path:
            case "/.well-known/oauth-authorization-server":
                return httpx2.Response(200, json=self._metadata())
            case "/register":
                return httpx2.Response(201, json={**json.loads(request.content), "client_id": "client"})
            case "/token":
                given = {name: value[0] for name, value in parse_qs(request.content.decode()).items()}
                assert (given["code"], given["resource"]) == ("code", self.asked["resource"])
                return httpx2.Response(200, json=self._token())
            case _:
                return httpx2.Response(404)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "registration_endpoint": f"{ISSUER}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }

    def _token(self) -> dict[str, Any]:
        claims = {
            "sub": "ann",
            "iss": ISSUER,
            "aud": AUDIENCE,
            "exp": int(time.time()) + 600,
            "scope": self.asked["scope"],
        }
        token = jwt.encode(claims, self._key, "ES256", headers={"kid": "k1"})
        return {"access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": self.asked["scope"]}


class Storage:
    """Keeps the tokens of a client in memory."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_h4_h5_oauth_client_finds_the_authorization_server_and_calls(era: str, tmp_path: Path) -> None:
    login = AuthorizationServer()
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(login.key_set))
    config = IdentityConfig(jwks=str(keys), jwt_issuer=ISSUER, jwt_audience=(AUDIENCE,), jwt_scopes=("tools",))
    runtime = Runtime(tools(Gates()))

    def guarded(app: ASGIApp) -> ASGIApp:
        return guard(app, config, runtime.store, clock=runtime.clock)

    async def redirect(url: str) -> None:
        login.asked = {name: value[0] for name, value in parse_qs(urlsplit(url).query).items()}

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code="code", state=login.asked["state"])

    metadata = OAuthClientMetadata(client_name="test", redirect_uris=[AnyUrl("http://127.0.0.1:1/callback")])
    async with serve(runtime, guard=guarded) as served:
        url = f"{served.url}/mcp"
        auth = OAuthClientProvider(url, metadata, Storage(), redirect, callback)
        elsewhere = {f"{ISSUER}/": httpx2.MockTransport(login.respond)}
        async with (
            asyncio.timeout(DEADLINE),
            httpx2.AsyncClient(auth=auth, mounts=elsewhere, timeout=DEADLINE) as http,
            Client(streamable_http_client(url, http_client=http), mode=era, cache=None) as client,
        ):
            assert (await client.call_tool("add", {"a": 2, "b": 3})).structured_content == {"result": 5}
        assert (login.asked["resource"], login.asked["scope"]) == (url, "tools")
        assert [live.user_id for live in runtime.sessions] == ["ann"]
