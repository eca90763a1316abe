"""Authentication with JSON Web Tokens (H5): valid tokens, and every way to forge one."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from callboard.server.identity import IdentityConfig, tokens
from callboard.server.identity.config import ALGORITHMS
from callboard.server.identity.keyset import COOLDOWN, LARGEST, LIFETIME, STALE, KeySet, read_source
from callboard.server.identity.token_errors import KeySetUnavailable
from callboard.server.identity.tokens import LIFETIME as LIFETIME_OF_TOKENS
from callboard.testing import ManualClock

from .callers import ELSEWHERE, Server

pytestmark = pytest.mark.anyio

RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
OTHER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
SMALL = rsa.generate_private_key(public_exponent=65_537, key_size=1_024)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
AUDIENCE, ISSUER = "board", "https://issuer.example"


def public(key: Any, kid: str | None = "k1", **fields: str) -> dict[str, Any]:
    """Return the entry of a key set."""
    kinds: list[tuple[type, Any]] = [(rsa.RSAPrivateKey, RSAAlgorithm), (ec.EllipticCurvePrivateKey, ECAlgorithm)]
    kind = next((each for of, each in kinds if isinstance(key, of)), OKPAlgorithm)
    entry: dict[str, Any] = json.loads(kind.to_jwk(key.public_key()))
    entry.pop("key_ops", None)
    return {**entry, **({} if kid is None else {"kid": kid}), **fields}


KEYS = {"keys": [public(RSA), public(EC, "k2"), public(ED, "k3"), public(RSA, "pss", alg="PS256")]}


def claims(**changed: Any) -> dict[str, Any]:
    said = {"sub": "ann", "aud": AUDIENCE, "iss": ISSUER, "exp": int(time.time()) + 600, **changed}
    return {name: value for name, value in said.items() if value is not None}


def signed(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "k1", **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, algorithm, headers={} if kid is None else {"kid": kid})


def part(data: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()


@pytest.fixture
def config(tmp_path: Path) -> IdentityConfig:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(KEYS))
    return IdentityConfig(jwks=str(path), jwt_audience=(AUDIENCE,), jwt_issuer=ISSUER, rate_limit=0)


@pytest.fixture
def server(config: IdentityConfig) -> Server:
    return Server(config)


# Valid tokens


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"), [(RSA, "RS256", "k1"), (EC, "ES256", "k2"), (ED, "EdDSA", "k3"), (RSA, "PS256", "pss")]
)
async def test_h5_token_identifies_its_user(server: Server, key: Any, algorithm: str, kid: str) -> None:
    assert (await server.ask(token=signed(key, algorithm, kid), client=ELSEWHERE)).user == "ann"


async def test_h5_keys_and_tokens_are_both_accepted(server: Server) -> None:
    text = await server.key("bob")
    assert (await server.ask(token=text)).user == "bob"
    assert (await server.ask(token=signed(aud=["other", AUDIENCE]))).user == "ann"


async def test_h5_with_a_key_set_local_requests_need_a_token_too(server: Server) -> None:
    reply = await server.ask()
    assert (reply.status, reply.code) == (401, "unauthenticated")


async def test_h5_the_user_is_the_configured_claim(config: IdentityConfig) -> None:
    server = Server(replace(config, jwt_user_claim="employee"))
    assert (await server.ask(token=signed(employee="e7"))).user == "e7"
    assert (await server.ask(token=signed())).status == 401


async def test_h5_tokens_are_refused_without_a_key_set() -> None:
    server = Server()
    await server.key()
    reply = await server.ask(token=signed())
    assert (reply.status, reply.code) == (401, "invalid_token")


# Forged, altered, expired and misdirected tokens


def unsigned() -> str:
    return f"{part({'alg': 'none', 'typ': 'JWT', 'kid': 'k1'})}.{part(claims())}."


def hmac_with_public_key(text: bytes) -> str:
    """Sign with the public key as a shared secret, which a server that trusts the token's algorithm accepts."""
    body = f"{part({'alg': 'HS256', 'typ': 'JWT', 'kid': 'k1'})}.{part(claims())}"
    tag = hmac.new(text, body.encode(), hashlib.sha256).digest()
    return f"{body}.{base64.urlsafe_b64encode(tag).rstrip(b'=').decode()}"


def altered() -> str:
    head, _, tail = signed().split(".")
    return f"{head}.{part(claims(sub='admin'))}.{tail}"


PEM = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
FORGED: dict[str, Callable[[], str]] = {  # made when a test starts: a token of the future becomes a valid one
    "none": unsigned,
    "none with a signature": lambda: unsigned() + signed().rpartition(".")[2],
    "NONE": lambda: f"{part({'alg': 'NoNe', 'kid': 'k1'})}.{part(claims())}.",
    "public key as a secret": lambda: hmac_with_public_key(PEM),
    "public key without its last line": lambda: hmac_with_public_key(PEM.strip()),
    "public key as JSON": lambda: hmac_with_public_key(json.dumps(public(RSA)).encode()),
    "another key": lambda: signed(OTHER),
    "another key's name": lambda: signed(EC, "ES256", "k1"),
    "another padding": lambda: signed(RSA, "PS256", "k1"),
    "another hash": lambda: signed(RSA, "RS512", "k1"),
    "altered": altered,
    "cut off": lambda: signed().rpartition(".")[0] + ".",
    "unknown key": lambda: signed(OTHER, kid="k9"),
    "no key named, and several there": lambda: signed(kid=None),
    "the key in the token": lambda: jwt.encode(claims(), OTHER, "RS256", headers={"kid": "k1", "jwk": public(OTHER)}),
    "the key elsewhere": lambda: jwt.encode(
        claims(),
        OTHER,
        "RS256",
        headers={"kid": "k1", "jku": "https://evil.example/keys", "x5u": "https://evil.example"},
    ),
    "critical and unknown": lambda: jwt.encode(claims(), RSA, "RS256", headers={"kid": "k1", "crit": ["x"], "x": 1}),
    "no token at all": lambda: "abc",
    "three words": lambda: "a.b.c",
    "five parts, encrypted": lambda: "a.b.c.d.e",
    "deep": lambda: f"{base64.urlsafe_b64encode(b'[' * 5_001).decode()}.a.a",
    "expired": lambda: signed(exp=int(time.time()) - 60),
    "no end": lambda: signed(exp=None),
    "an end that is no number": lambda: signed(exp="soon"),
    "not yet": lambda: signed(nbf=int(time.time()) + 600),
    "of the future": lambda: signed(iat=int(time.time()) + 600),
    "another audience": lambda: signed(aud="other"),
    "no audience": lambda: signed(aud=None),
    "another issuer": lambda: signed(iss="https://evil.example"),
    "no issuer": lambda: signed(iss=None),
    "no user": lambda: signed(sub=None),
    "an empty user": lambda: signed(sub=""),
    "a name of control characters": lambda: signed(sub="a\x1b[2J"),
    "a name without end": lambda: signed(sub="a" * 300),
    "the one person of this machine": lambda: signed(sub="local"),
}


@pytest.mark.parametrize("name", FORGED)
async def test_h5_forged_tokens_are_refused(server: Server, name: str) -> None:
    reply = await server.ask(token=FORGED[name]())
    assert (reply.status, reply.code) == (401, "invalid_token")
    assert "evil" not in reply.body.decode()


@pytest.mark.parametrize("value", [5, True, ["ann"], {"a": 1}])
async def test_h5_user_claim_must_be_a_string(config: IdentityConfig, value: Any) -> None:
    server = Server(replace(config, jwt_user_claim="who"))
    assert (await server.ask(token=signed(who=value))).status == 401


async def test_h5_small_clock_skew_is_tolerated(config: IdentityConfig) -> None:
    late = signed(exp=int(time.time()) - 5)
    assert (await Server(replace(config, jwt_leeway=60)).ask(token=late)).user == "ann"
    assert (await Server(replace(config, jwt_leeway=0)).ask(token=late)).status == 401


async def test_h5_only_configured_algorithms_are_accepted(config: IdentityConfig) -> None:
    server = Server(replace(config, jwt_algorithms=("ES256",)))
    assert (await server.ask(token=signed())).status == 401
    assert (await server.ask(token=signed(EC, "ES256", "k2"))).user == "ann"


async def test_h5_any_audience_is_accepted_only_if_configured(config: IdentityConfig) -> None:
    assert (await Server(replace(config, jwt_audience=("*",))).ask(token=signed(aud="other"))).user == "ann"


# Caches


async def test_h5_verified_token_is_cached_for_a_while(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.clock._epoch = time.time()
    verified: list[str] = []
    decode = jwt.decode

    def counted(token: str, *given: Any, **named: Any) -> Any:
        verified.append(token)
        return decode(token, *given, **named)

    monkeypatch.setattr(tokens.jwt, "decode", counted)
    good, bad, short = signed(), signed(OTHER), signed(exp=int(time.time()) + 2)
    for _ in range(5):
        assert (await server.ask(token=good)).user == "ann"
        assert (await server.ask(token=bad)).status == 401
    assert (verified.count(good), verified.count(bad)) == (1, 5), "invalid tokens are never cached"
    assert (await server.ask(token=short)).user == "ann"
    await server.clock.advance(LIFETIME_OF_TOKENS)
    await server.ask(token=good)
    assert verified.count(good) == 2
    await server.clock.advance(20.0)
    await server.ask(token=short)
    assert verified.count(short) == 2, "its own time is over by this clock: it is looked at again"


async def test_h5_number_of_cached_tokens_is_bounded(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_ENTRIES", 3)
    for number in range(6):
        assert (await server.ask(token=signed(EC, "ES256", "k2", sub=f"u{number}"))).user == f"u{number}"
    known = server.guard._authenticator._tokens
    assert known is not None
    assert len(known._known) == 3


async def test_h5_stream_ends_when_its_token_expires(config: IdentityConfig) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(5):
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
            await server.clock.advance(10.0)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    server = Server(replace(config, jwt_leeway=0), app)
    server.clock._epoch = time.time()
    assert (await server.ask(token=signed(exp=int(time.time()) + 25))).body == b"xxx"


# The key set


def source(*sets: Any) -> tuple[Any, list[str]]:
    """A source that returns its sets in order, and then the last one again. An exception is raised."""
    asked: list[str] = []

    def read(address: str) -> bytes:
        found = sets[min(len(asked), len(sets) - 1)]
        asked.append(address)
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, bytes) else json.dumps(found).encode()

    return read, asked


def key_set(read: Any, clock: ManualClock) -> KeySet:
    return KeySet("https://issuer.example/keys", ALGORITHMS, clock, read)


async def test_h5_key_set_is_loaded_periodically() -> None:
    read, asked = source(KEYS)
    clock = ManualClock()
    keys = key_set(read, clock)
    for _ in range(20):
        assert await keys.find("k1") is not None
    await clock.advance(LIFETIME - 1)
    await keys.find("k1")
    assert len(asked) == 1
    await clock.advance(1)
    await keys.find("k1")
    assert len(asked) == 2


async def test_h5_new_key_is_found_and_unknown_keys_load_the_set_at_most_once_per_cooldown() -> None:
    read, asked = source(KEYS, {"keys": [public(OTHER, "new")]})
    clock = ManualClock()
    keys = key_set(read, clock)
    assert await keys.find("k1") is not None
    for number in range(50):
        assert await keys.find(f"guess {number}") is None
    assert len(asked) == 1
    await clock.advance(COOLDOWN)
    assert await keys.find("new") is not None
    assert await keys.find("k1") is None, "a removed key is not accepted any more"
    assert len(asked) == 2


async def test_h5_key_set_that_cannot_be_reloaded_is_used_for_a_while() -> None:
    read, _ = source(KEYS, OSError("gone"))
    clock = ManualClock()
    keys = key_set(read, clock)
    await keys.find("k1")
    await clock.advance(STALE - 1)
    assert await keys.find("k1") is not None
    await clock.advance(1)
    with pytest.raises(KeySetUnavailable):
        await keys.find("k1")


@pytest.mark.parametrize(
    "bad",
    [
        OSError("secret address"),
        TimeoutError(),
        b"<html>",
        b"[]",
        {"keys": []},
        {"keys": "all"},
        {"keys": [5, None, {}]},
        {"keys": [{"kty": "oct", "kid": "k1", "k": "c2VjcmV0"}]},
        {"keys": [public(RSA, use="enc")]},
        {"keys": [{**public(RSA), "key_ops": ["sign"]}]},
        {"keys": [{**public(RSA), "d": "AQAB"}]},
        {"keys": [public(RSA, alg="HS256")]},
    ],
)
async def test_h5_key_set_without_a_usable_key_is_unavailable(bad: Any, caplog: pytest.LogCaptureFixture) -> None:
    read, asked = source(bad)
    clock = ManualClock()
    keys = key_set(read, clock)
    for _ in range(3):
        with pytest.raises(KeySetUnavailable):
            await keys.find("k1")
    assert len(asked) == 1
    assert "secret" not in caplog.text


async def test_h5_short_keys_are_refused(tmp_path: Path, config: IdentityConfig) -> None:
    path = tmp_path / "small.json"
    path.write_text(json.dumps({"keys": [public(SMALL)]}))
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = signed(SMALL)
    assert (await Server(replace(config, jwks=str(path))).ask(token=token)).status == 401


async def test_h5_token_without_a_key_id_uses_the_only_key() -> None:
    read, _ = source({"keys": [public(RSA, None)]})
    keys = key_set(read, ManualClock())
    assert await keys.find(None) is not None
    assert await keys.find("k1") is None


async def test_h5_missing_key_set_is_reported(config: IdentityConfig, tmp_path: Path) -> None:
    server = Server(replace(config, jwks=str(tmp_path / "missing.json")))
    reply = await server.ask(token=signed())
    assert (reply.status, reply.code, reply.header("retry-after")) == (503, "unavailable", "5")
    assert str(tmp_path) not in reply.body.decode()


# The URL of a key set


@contextmanager
def web(status: int, body: bytes, **headers: str) -> Generator[str]:
    """Start a server with the same response to every request."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/keys"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_h5_key_set_is_loaded_from_a_url(config: IdentityConfig) -> None:
    with web(200, json.dumps(KEYS).encode()) as address:
        assert (await Server(replace(config, jwks=address)).ask(token=signed())).user == "ann"


@pytest.mark.parametrize("status", [301, 302, 307])
def test_h5_redirects_of_a_key_set_are_not_followed(status: int) -> None:
    keys, moved = web(200, json.dumps(KEYS).encode()), pytest.raises(OSError, match=str(status))
    with keys as there, web(status, b"", location=there) as here, moved:
        read_source(here)


def test_h5_size_of_a_key_set_is_bounded() -> None:
    with web(200, b" " * (LARGEST + 1)) as address, pytest.raises(ValueError, match="too large"):
        read_source(address)
    with web(404, b"") as address, pytest.raises(OSError, match="404"):
        read_source(address)
