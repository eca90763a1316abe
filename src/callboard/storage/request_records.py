"""The port of stored requests to people."""

from collections.abc import Collection
from typing import Protocol

from .brief import Brief
from .rows import RequestRow


class RequestRecords(Protocol):
    """Reads requests. `Change.requests` writes them."""

    async def request(self, request_id: str) -> RequestRow | None:
        """Return a request; None if it does not exist."""
        ...

    async def closed_requests(self, request_ids: Collection[str]) -> list[RequestRow]:
        """Return those of the given requests that are no longer open, oldest first."""
        ...

    async def requests(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        status: str | None = None,
        due: float | None = None,
        executions: Collection[tuple[str, str]] | None = None,
        limit: int = 1000,
    ) -> list[RequestRow]:
        """Return the first `limit` matching requests, oldest first.

        `due` selects requests that expire at that time or before it; `executions` selects requests of these
        executions, each given by session and id.
        """
        ...

    async def brief_requests(
        self,
        *,
        user_id: str,
        session_id: str | None = None,
        status: str | None = None,
        after: str | None = None,
        limit: int,
        longest: int,
    ) -> list[Brief[RequestRow]]:
        """Return the first `limit` matching requests of a user after a request, oldest first.

        `payload` is left out if it is longer than `longest` bytes. The result is empty if `after` does not exist.
        """
        ...

    async def next_expiry(self) -> float | None:
        """Return the earliest expiry time of all open requests, which may be past; None if no request expires."""
        ...
