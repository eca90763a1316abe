"""Requests to a guarded application without a network, so that a test controls every byte."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callboard.adapters.stores.memory import MemoryStore
from callboard.protocols.mount import ProtocolMount
from callboard.server.identity import IdentityConfig, guard
from callboard.server.identity.guard import Guard
from callboard.storage.api_keys import new_key
from callboard.testing import ManualClock

HERE = "127.0.0.1"
ELSEWHERE = "203.0.113.7"
CONFIG = IdentityConfig(rate_limit=0)


class Reply(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return a header that occurs at most once."""
        found = [value for each, value in self.headers if each == name]
        assert len(found) < 2, found
        return found[0] if found else None

    @property
    def code(self) -> str:
        """The code of the problem document."""
        assert self.header("content-type") == "application/problem+json"
        return json.loads(self.body)["code"]

    @property
    def user(self) -> str:
        """The user that the application received."""
        assert self.status == 200, self
        return json.loads(self.body)["user"]


async def whoami(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the user and the headers of the request."""
    seen = {"user": scope["state"]["user_id"], "headers": [name.decode() for name, _ in scope["headers"]]}
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(seen).encode()})


class Server:
    """A guarded application with its own store and clock."""

    def __init__(
        self, config: IdentityConfig = CONFIG, app: ASGIApp = whoami, mounts: Sequence[ProtocolMount] | None = None
    ) -> None:
        self.store = MemoryStore()
        self.clock = ManualClock()
        self.guard: Guard = guard(app, config, self.store, clock=self.clock, mounts=mounts)

    async def key(self, user_id: str = "ann", expires_in: float | None = None) -> str:
        """Create a key of a user."""
        now = self.clock.time()
        row, text = new_key(user_id, now, expires_at=None if expires_in is None else now + expires_in)
        await self.store.add_key(row)
        return text

    async def ask(
        self,
        path: str = "/api/state",
        method: str = "GET",
        *,
        token: str | None = None,
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        host: str | None = "localhost:8000",
        client: str | None = HERE,
        **scope: Any,
    ) -> Reply:
        """Send a request. Returns the response."""
        given = list(headers.items()) if isinstance(headers, dict) else list(headers or ())
        if host is not None:
            given.append(("host", host))
        if token is not None:
            given.append(("authorization", f"Bearer {token}"))
        whole = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "scheme": "http",
            "client": None if client is None else (client, 50_000),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given],
            **scope,
        }
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await self.guard(whole, receive, send)
        start, *rest = sent
        assert rest, "the response is complete"
        assert not rest[-1].get("more_body")
        shown = [(name.decode(), value.decode("latin-1")) for name, value in start["headers"]]
        return Reply(start["status"], shown, b"".join(message.get("body", b"") for message in rest))
