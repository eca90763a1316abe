"""The server as a protected resource of OAuth (H5): its metadata, challenges and scopes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callboard.errors import SettingsError
from callboard.server.identity import IdentityConfig
from callboard.server.identity.resource_metadata import WELL_KNOWN

from .callers import ELSEWHERE, Server
from .test_tokens import AUDIENCE, ISSUER, KEYS, signed

pytestmark = pytest.mark.anyio


@pytest.fixture
def config(tmp_path: Path) -> IdentityConfig:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(KEYS))
    return IdentityConfig(jwks=str(path), jwt_audience=(AUDIENCE,), jwt_issuer=ISSUER, rate_limit=0)


async def test_h5_metadata_name_the_resource_and_the_authorization_server(config: IdentityConfig) -> None:
    server = Server(replace(config, hosts=("board.example.com",)))
    asked = await server.ask(f"{WELL_KNOWN}/mcp", host="board.example.com", client=ELSEWHERE)
    assert (asked.status, asked.header("content-type")) == (200, "application/json")
    assert json.loads(asked.body) == {
        "resource": "http://board.example.com/mcp",
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "resource_name": "Callboard",
    }
    whole = await server.ask(WELL_KNOWN, host="board.example.com", client=ELSEWHERE, scheme="https")
    assert json.loads(whole.body)["resource"] == "https://board.example.com"
    assert (await server.ask(WELL_KNOWN, host="evil.example.com", client=ELSEWHERE)).code == "host_not_allowed"
    for path, method in ((f"{WELL_KNOWN}/other", "GET"), (f"{WELL_KNOWN}/", "GET"), (WELL_KNOWN, "POST")):
        assert (await server.ask(path, method, host="board.example.com", client=ELSEWHERE)).status == 401


async def test_h5_challenge_names_the_metadata_of_the_resource(config: IdentityConfig) -> None:
    origin = "https://board.example.com"
    server = Server(replace(config, public_origin=origin, jwt_scopes=("tools:call", "tools:read")))
    missing = await server.ask("/mcp")
    scopes = 'scope="tools:call tools:read"'
    expected = f'Bearer realm="callboard", resource_metadata="{origin}{WELL_KNOWN}/mcp", {scopes}'
    assert (missing.status, missing.header("www-authenticate")) == (401, expected)
    wrong = await server.ask("/api/state", token="abc.def")
    expected = f'Bearer realm="callboard", error="invalid_token", resource_metadata="{origin}{WELL_KNOWN}", {scopes}'
    assert (wrong.status, wrong.header("www-authenticate")) == (401, expected)
    assert json.loads((await server.ask(WELL_KNOWN)).body)["scopes_supported"] == ["tools:call", "tools:read"]


@pytest.mark.parametrize(
    ("claims", "accepted"),
    [
        ({"scope": "openid tools:call"}, True),
        ({"scope": ["tools:call"]}, True),
        ({"scp": ["tools:call"]}, True),
        ({"scp": "tools:call"}, True),
        ({"scope": "tools:calls"}, False),
        ({"scope": ""}, False),
        ({"scope": 1}, False),
        ({"scope": {"tools:call": True}}, False),
        ({}, False),
    ],
)
async def test_h5_token_needs_the_scopes(config: IdentityConfig, claims: dict[str, Any], accepted: bool) -> None:
    server = Server(replace(config, jwt_scopes=("tools:call",)))
    asked = await server.ask("/mcp", token=signed(**claims))
    if accepted:
        assert asked.user == "ann"
    else:
        assert (asked.status, asked.code) == (403, "insufficient_scope")
        assert 'error="insufficient_scope", resource_metadata="' in (asked.header("www-authenticate") or "")
    assert (await server.ask("/mcp", token=await server.key("bob"))).user == "bob"  # keys have no scopes


async def test_h5_without_an_authorization_server_there_are_no_metadata(config: IdentityConfig) -> None:
    for changed in (IdentityConfig(rate_limit=0), replace(config, jwt_issuer=None), replace(config, jwt_issuer="us")):
        server = Server(changed)
        await server.key()
        refused = await server.ask(WELL_KNOWN)
        assert (refused.status, refused.header("www-authenticate")) == (401, 'Bearer realm="callboard"')
    named = Server(replace(config, jwt_issuer="us", jwt_authorization_servers=("https://login.example.com",)))
    assert json.loads((await named.ask(WELL_KNOWN)).body)["authorization_servers"] == ["https://login.example.com"]


async def test_h5_metadata_are_limited_like_other_public_paths(config: IdentityConfig) -> None:
    server = Server(replace(config, rate_limit=1, rate_burst=2, hosts=("*",)))
    asked = [(await server.ask(WELL_KNOWN, host="a.example", client=ELSEWHERE)).status for _ in range(3)]
    assert asked == [200, 200, 429]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"jwt_authorization_servers": ("login.example.com",)}, "The authorization server 'login.example.com'"),
        ({"jwt_authorization_servers": ("http://login.example.com",)}, "is not a URL that begins with https://"),
        ({"jwt_authorization_servers": ('https://a"b',)}, "The authorization server"),
        ({"jwt_scopes": ('a"b',)}, "The scope"),
        ({"jwt_scopes": ("a b",)}, "The scope 'a b' is not valid"),
        ({"public_origin": "https://a/b"}, "The setting public_origin is 'https://a/b'"),
    ],
)
def test_h5_wrong_settings_of_the_resource_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        IdentityConfig(**changed)
