"""A connection that counts the bytes of each answer, with what is not part of its body: headers and chunk sizes."""

import ssl
from typing import Any

import httpcore2

MAX_HEAD = 131_072
"""Bytes of an answer before its body, with those of informational answers."""


class MeteredStream(httpcore2.AsyncNetworkStream):
    """A stream whose answers end with an error at their limit. A request that is sent begins a new count."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self._inner = inner
        self._left = MAX_HEAD

    def allow(self, size: int) -> None:
        """Let the current answer be longer."""
        self._left += size

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read a piece. Raises `RemoteProtocolError` if the answer is longer than allowed."""
        piece = await self._inner.read(max_bytes, timeout)
        self._left -= len(piece)
        if self._left < 0:
            raise httpcore2.RemoteProtocolError(ValueError("the answer is too long"))
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._left = MAX_HEAD
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return MeteredStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
