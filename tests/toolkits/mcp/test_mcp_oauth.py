"""Logins at MCP servers: what the conformance suite does not show. It runs the flows themselves."""

import stat
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from callboard import RegistrationError, mcp_toolset
from callboard.toolkits.mcp import oauth_credentials, oauth_login
from callboard.toolkits.mcp.oauth import Tokens

pytestmark = pytest.mark.anyio
URL, REDIRECT = "https://shop.example/mcp", "http://localhost:3000/callback"


async def test_h4_tokens_are_kept_in_a_file_of_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    tokens = Tokens(path)
    assert await tokens.get_tokens() is None
    await tokens.set_client_info(OAuthClientInformationFull(client_id="me"))
    await tokens.set_tokens(OAuthToken(access_token="secret"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Tokens(path)
    found, client = await again.get_tokens(), await again.get_client_info()
    assert found is not None
    assert found.access_token == "secret"
    assert client is not None
    assert client.client_id == "me"
    path.write_text("{")
    with pytest.raises(RegistrationError, match=r"tokens\.json cannot be read"):
        Tokens(path)


def client(client_id: str, secret: str) -> OAuthClientInformationFull:
    return OAuthClientInformationFull(client_id=client_id, client_secret=secret)


@pytest.mark.parametrize(
    ("given", "server", "keeps_tokens"),
    [
        (None, URL, True),
        (client("me", "new"), URL, True),
        (client("other", "new"), URL, False),
        (client("me", "new"), "https://other.example/mcp", False),
        (None, "https://other.example/mcp", False),
    ],
)
async def test_h4_a_client_that_is_given_replaces_the_stored_one(
    given: OAuthClientInformationFull | None, server: str, keeps_tokens: bool, tmp_path: Path
) -> None:
    path = tmp_path / "tokens.json"
    stored = client("me", "old")
    await Tokens(path, stored, URL).set_tokens(OAuthToken(access_token="secret"))
    tokens = Tokens(path, given, server)
    assert (await tokens.get_tokens() is not None) is keeps_tokens
    assert await tokens.get_client_info() == (given or (stored if keeps_tokens else None))


async def test_h4_tokens_of_an_older_version_are_read(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text('{"tokens": {"access_token": "secret"}, "client": {"client_id": "me"}}')
    assert await Tokens(path, None, URL).get_tokens() is not None


async def test_h4_a_login_uses_the_client_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    await Tokens(path, client("me", "old"), URL).set_tokens(OAuthToken(access_token="secret"))
    login: Any = oauth_login(URL, _never, redirect_uri=REDIRECT, tokens=path, client_id="me", client_secret="rotated")
    assert (await login.context.storage.get_client_info()).client_secret == "rotated"
    login = oauth_login("https://other.example/mcp", _never, redirect_uri=REDIRECT, tokens=path)
    assert await login.context.storage.get_tokens() is None


@pytest.mark.parametrize(
    ("query", "problem"),
    [("?error=access_denied&error_description=No.", "No."), ("?error=access_denied", "access_denied"), ("", "no code")],
)
async def test_h4_a_login_that_a_person_refuses_is_an_error(query: str, problem: str) -> None:
    async def authorize(url: str) -> str:
        return f"{REDIRECT}{query}"

    login: Any = oauth_login(URL, authorize, redirect_uri=REDIRECT)
    await login.context.redirect_handler("https://login.example/")
    with pytest.raises(OAuthFlowError, match=problem):
        await login.context.callback_handler()


async def _never(url: str) -> str:
    raise AssertionError


async def test_h4_a_login_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(RegistrationError, match="client_metadata_url"):
        oauth_login(URL, _never, redirect_uri=REDIRECT, client_metadata_url="http://a/")
    with pytest.raises(RegistrationError, match="issuer"):
        oauth_credentials(URL, client_id="me", client_secret="secret", issuer="shop")
    with pytest.raises(RegistrationError, match="auth="):
        mcp_toolset("a", auth=httpx2.BasicAuth("a", "b"))


async def test_h4_secrets_of_a_login_are_not_shown() -> None:
    login = oauth_credentials(URL, client_id="me", client_secret="secret", issuer="https://login.example")
    assert "secret" not in repr(vars(mcp_toolset(URL, auth=login)._connection))
