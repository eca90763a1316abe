"""Authentication with API keys (H5)."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from callboard.adapters.stores import open_store
from callboard.adapters.stores.memory import MemoryStore
from callboard.server.identity import key_cache
from callboard.server.identity.key_cache import LIFETIME, USE_INTERVAL, KeyCache
from callboard.storage import api_keys
from callboard.storage.api_keys import KeyNameError, is_key, key_state, new_key, read_key
from callboard.storage.errors import StoreUnavailable
from callboard.storage.rows import KeyRow
from callboard.testing import ManualClock

from .callers import CONFIG, ELSEWHERE, Server

pytestmark = pytest.mark.anyio


# Keys


def test_h5_key_is_random_and_only_its_hash_is_stored() -> None:
    row, text = new_key("ann", 5.0, name="laptop", expires_at=9.0)
    prefix, key_id, secret = text.split("_")
    assert (prefix, key_id, len(secret)) == ("cb", row.id, 64)
    assert row.digest == sha256(secret.encode()).hexdigest()
    assert secret not in repr(row)
    assert (row.user_id, row.name, row.created_at, row.expires_at) == ("ann", "laptop", 5.0, 9.0)
    assert len({new_key("ann", 5.0).text for _ in range(100)}) == 100


@pytest.mark.parametrize("name", ["", " ", " ann", "a\nb", "a\x00", "\x1b[2J", "a" * 201, "\u202eann"])
def test_h5_user_name_must_be_printable(name: str) -> None:
    with pytest.raises(KeyNameError):
        new_key(name, 0.0)
    with pytest.raises(KeyNameError):
        new_key("ann", 0.0, name=name)


def test_h5_keys_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def compare(a: str, b: str) -> bool:
        compared.append((a, b))
        return a == b

    monkeypatch.setattr(api_keys, "compare_digest", compare)
    row, text = new_key("ann", 0.0)
    key = read_key(text)
    assert key is not None
    assert is_key(key, row)
    assert not is_key(key, replace(row, digest="0" * 64))
    assert not is_key(key, None), "an unknown key takes the same time"
    assert [a for a, _ in compared] == [key.digest] * 3
    assert {len(b) for _, b in compared} == {64}


def test_h5_secret_of_zeros_is_refused() -> None:
    assert not is_key(api_keys.ReadKey("0" * 16, "0" * 64), None)


def test_key_is_active_expired_or_revoked() -> None:
    row, _ = new_key("ann", 0.0, expires_at=10.0)
    assert [key_state(row, now) for now in (0.0, 9.9, 10.0)] == ["active", "active", "expired"]
    assert key_state(replace(row, revoked_at=1.0), 20.0) == "revoked"


def test_h5_secret_is_not_in_the_database(tmp_path: Path) -> None:
    row, text = new_key("ann", 0.0)

    async def write() -> None:
        store = open_store(f"sqlite:///{tmp_path / 'callboard.db'}")
        await store.open(lambda *_: None)
        await store.add_key(row)
        await store.close()

    asyncio.run(write())
    secret = text.rpartition("_")[2]
    contents = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert row.digest.encode() in contents
    assert secret.encode() not in contents
    assert bytes.fromhex(secret) not in contents


# Authentication


async def test_h5_without_keys_local_requests_have_one_user() -> None:
    server = Server()
    assert (await server.ask()).user == "local"
    assert (await server.ask(host="[::1]:8000", client="::1")).user == "local"
    assert (await server.ask(client="::ffff:127.0.0.1")).user == "local"
    assert (await server.ask(token="whatever")).user == "local"


@pytest.mark.parametrize(
    "asked",
    [
        {"client": ELSEWHERE},
        {"client": None},
        {"client": "::ffff:203.0.113.7"},
        {"headers": {"x-forwarded-for": "127.0.0.1"}},
        {"headers": {"forwarded": "for=127.0.0.1"}},
        {"headers": {"via": "1.1 proxy"}},
    ],
)
async def test_h5_without_keys_other_machines_are_refused(asked: dict[str, Any]) -> None:
    reply = await Server().ask(**asked)
    assert (reply.status, reply.code) == (401, "unauthenticated")
    assert "callboard keys create" in json.loads(reply.body)["detail"]


async def test_h5_without_keys_a_public_host_name_is_not_local() -> None:
    server = Server(replace(CONFIG, hosts=("board.example.com",)))
    assert (await server.ask(host="board.example.com")).status == 401
    assert (await server.ask(host="localhost")).user == "local"


async def test_h5_insecure_admits_every_client() -> None:
    server = Server(replace(CONFIG, insecure=True))
    assert (await server.ask(client=ELSEWHERE)).user == "local"
    await server.key()
    await server.clock.advance(LIFETIME)
    assert (await server.ask(client=ELSEWHERE)).status == 401, "a key is required once there is one"


async def test_h5_key_identifies_its_user() -> None:
    server = Server()
    ann, bob = await server.key("ann"), await server.key("bob")
    assert (await server.ask(token=ann, client=ELSEWHERE)).user == "ann"
    reply = await server.ask(token=bob)
    assert reply.user == "bob"
    assert "authorization" not in json.loads(reply.body)["headers"], "the application does not see the key"


async def test_h5_once_a_key_exists_local_requests_need_it_too() -> None:
    server = Server()
    assert (await server.ask()).user == "local"
    await server.key()
    await server.clock.advance(LIFETIME)
    reply = await server.ask()
    assert (reply.status, reply.code) == (401, "unauthenticated")
    assert reply.header("www-authenticate") == 'Bearer realm="callboard"'


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
        lambda text: text[:-1],
        lambda text: text + "0",
        lambda text: text.upper().replace("CB_", "cb_"),
        lambda text: text.replace("_", "-"),
        lambda text: "cb_" + "0" * 16 + "_" + text.rpartition("_")[2],
        lambda text: text.rpartition("_")[2],
        lambda text: "cb_",
    ],
)
async def test_h5_altered_key_is_refused(spoil: Callable[[str], str]) -> None:
    server = Server()
    text = await server.key()
    reply = await server.ask(token=spoil(text))
    assert (reply.status, reply.code) == (401, "invalid_token")
    assert reply.header("www-authenticate") == 'Bearer realm="callboard", error="invalid_token"'
    assert text.rpartition("_")[2] not in reply.body.decode()


async def test_h5_a_revoked_key_stops_working_within_seconds() -> None:
    server = Server()
    text = await server.key()
    key = read_key(text)
    assert key is not None
    assert (await server.ask(token=text)).user == "ann"
    await server.store.revoke_key(key.id, server.clock.time())
    await server.clock.advance(LIFETIME)
    reply = await server.ask(token=text)
    assert (reply.status, reply.code) == (401, "invalid_token")
    assert "revoked" in json.loads(reply.body)["detail"]


async def test_h5_revoking_the_last_key_does_not_admit_everyone() -> None:
    server = Server()
    key = read_key(await server.key())
    assert key is not None
    await server.store.revoke_key(key.id, server.clock.time())
    assert (await server.ask()).status == 401


async def test_h5_expired_key_stops_working_at_once() -> None:
    server = Server()
    text = await server.key(expires_in=2.0)
    assert (await server.ask(token=text)).user == "ann"
    await server.clock.advance(2.0)
    reply = await server.ask(token=text)
    assert "expired" in json.loads(reply.body)["detail"]


@pytest.mark.parametrize("place", ["access_token", "token", "api_key"])
async def test_h5_a_key_in_the_query_is_not_read(place: str) -> None:
    server = Server()
    text = await server.key()
    assert (await server.ask(query_string=f"{place}={text}".encode())).status == 401


# Caches


class Counted(MemoryStore):
    """A store that counts its queries."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.fails = False

    async def key(self, key_id: str) -> KeyRow | None:
        self.asked.append(key_id)
        if self.fails:
            raise StoreUnavailable("It does not answer.")
        return await super().key(key_id)

    async def key_used(self, key_id: str, at: float) -> None:
        self.asked.append(f"used {key_id}")
        if self.fails:
            raise StoreUnavailable("It does not answer.")
        await super().key_used(key_id, at)


async def counted(server: Server) -> Counted:
    server.store = Counted()
    server.guard._authenticator._keys = KeyCache(server.store, server.clock)
    return server.store


async def test_h5_requests_with_a_cached_key_need_no_query() -> None:
    server = Server()
    store = await counted(server)
    text = await server.key()
    for _ in range(50):
        assert (await server.ask(token=text)).user == "ann"
    assert len(store.asked) == 2, "one look-up, and one note of its use"
    await server.clock.advance(LIFETIME)
    await server.ask(token=text)
    assert len(store.asked) == 3
    for _ in range(50):
        await server.ask(token="cb_" + "0" * 16 + "_" + "0" * 64)
    assert len(store.asked) == 4


async def test_h5_use_of_a_key_is_recorded_at_most_once_a_minute() -> None:
    server = Server()
    store = await counted(server)
    text = await server.key()
    first = server.clock.time()
    await server.ask(token=text)
    await server.clock.advance(USE_INTERVAL - 1)
    await server.ask(token=text)
    assert [row.last_used_at for row in await store.keys()] == [first]
    await server.clock.advance(1)
    await server.ask(token=text)
    assert [row.last_used_at for row in await store.keys()] == [first + USE_INTERVAL]
    assert sum(each.startswith("used") for each in store.asked) == 2


async def test_h5_an_expired_cache_entry_admits_no_client() -> None:
    server = Server()
    store = await counted(server)
    text = await server.key()
    await server.ask(token=text)
    store.fails = True
    assert (await server.ask(token=text)).user == "ann"
    await server.clock.advance(LIFETIME)
    reply = await server.ask(token=text)
    assert (reply.status, reply.code, reply.header("retry-after")) == (503, "store_unavailable", "5")


async def test_h5_a_use_that_cannot_be_recorded_does_not_fail_the_request() -> None:
    server = Server()
    store = await counted(server)
    text = await server.key()
    await server.ask(token=text)
    await server.clock.advance(USE_INTERVAL)
    key = read_key(text)
    assert key is not None
    ring = server.guard._authenticator._keys
    assert ring is not None
    row = await ring.find(key)
    assert row is not None
    store.fails = True
    await ring.record_use(row)
    assert store.asked[-1] == f"used {key.id}"


async def test_h5_the_cache_of_guessed_keys_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_cache, "MAX_ENTRIES", 10)
    store = Counted()
    row, text = new_key("ann", 0.0)
    await store.add_key(row)
    ring, key = KeyCache(store, ManualClock()), read_key(text)
    assert key is not None
    assert await ring.find(key) == row
    for number in range(100):
        assert await ring.find(api_keys.ReadKey(f"{number:016x}", "0" * 64)) is None
    assert (len(ring._known), len(ring._unknown)) == (1, 10)
    assert await ring.find(key) == row
    assert store.asked.count(row.id) == 1, "guesses do not evict known keys"


# Streams


def streaming(steps: list[Callable[[], Awaitable[object]]]) -> Any:
    """Return an application that sends a chunk before each step, and one at the end."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number, step in enumerate(steps):
            await send({"type": "http.response.body", "body": b"%d " % number, "more_body": True})
            await step()
        await send({"type": "http.response.body", "body": b"last", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


async def test_h5_a_stream_ends_when_its_key_is_revoked() -> None:
    steps: list[Callable[[], Awaitable[object]]] = []
    server = Server(app=streaming(steps))
    text = await server.key()
    key = read_key(text)
    assert key is not None
    steps += [
        lambda: server.clock.advance(LIFETIME),
        lambda: server.store.revoke_key(key.id, server.clock.time()),
        lambda: server.clock.advance(LIFETIME),
    ]
    reply = await server.ask(token=text)
    assert reply.body == b"0 1 2 "


async def test_h5_stream_of_a_valid_key_continues() -> None:
    steps: list[Callable[[], Awaitable[object]]] = []
    server = Server(app=streaming(steps))
    text = await server.key()
    steps += [lambda: server.clock.advance(LIFETIME)] * 3
    assert (await server.ask(token=text)).body == b"0 1 2 last"


async def test_h5_stream_ends_when_its_key_expires() -> None:
    steps: list[Callable[[], Awaitable[object]]] = []
    server = Server(app=streaming(steps))
    text = await server.key(expires_in=2 * LIFETIME)
    steps += [lambda: server.clock.advance(LIFETIME)] * 3
    assert (await server.ask(token=text)).body == b"0 1 "
