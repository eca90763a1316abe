"""Fetch a URL for a model: one request, its redirects, a bounded response.

`Fetcher` owns the connections and the limits; the tools below are thin layers over it. The guard decides at the socket
which addresses may be reached. There is no client object on purpose: nothing here keeps cookies, reads proxies or
credentials from the environment, or follows a redirect without validating it.
"""

import functools
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, cast

import anyio
import anyio.lowlevel
import httpcore2
import httpx2
from pydantic import Field

from callboard import BreakerPolicy, Tool, ToolContext, ToolError, tool

from .guard import Guard, GuardedBackend
from .metered_stream import MeteredStream
from .request import Header, Hop, becomes_get, origin, read_headers, read_url, redirected
from .response import BROKEN, SLOW, Body, FetchResult, make_result

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

MAX_BODY = 1_000_000
READ_AHEAD = 65_536
PIECE_COST = 64
"""Bytes that a piece of a body counts in addition to its own: a body in pieces of one byte costs much time."""
PIECES_AT_ONCE = 100
"""Pieces after which other tasks run, since a piece that has arrived is returned without waiting."""
DEFAULT_BYTES = 100_000

REDIRECTS = frozenset({301, 302, 303, 307, 308})
CODINGS = frozenset({"gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one fetch."""

    max_bytes: int = 2_000_000
    """Bytes of a body that are kept, after decompression, at most. Callers cannot raise it."""
    total_seconds: float = 20.0
    """The time for everything: look-ups, connections, redirects and the body."""
    connect_seconds: float = 8.0
    max_redirects: int = 5


@contextmanager
def translate_errors(host: str) -> Generator[None, None, None]:
    """Translate errors of the HTTP library into `ToolError`."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise ToolError(f"The host {host!r} did not answer in time.", category="timeout") from error
    except httpcore2.ConnectError as error:
        if any(isinstance(cause, ssl.SSLError) for cause in error.args):
            raise ToolError(f"No trusted TLS connection to {host!r} is possible.", category="permanent") from error
        raise ToolError(f"The host {host!r} does not accept the connection.", category="transient") from error
    except httpcore2.RemoteProtocolError as error:
        # With a cause the message was malformed; without one the server closed the connection.
        if any(isinstance(cause, Exception) for cause in error.args):
            raise ToolError(f"The host {host!r} did not answer with valid HTTP.", category="permanent") from error
        raise ToolError(f"The host {host!r} closed the connection without an answer.", category="transient") from error
    except (httpcore2.NetworkError, OSError) as error:
        raise ToolError(f"The connection to {host!r} broke.", category="transient") from error
    except httpcore2.ProtocolError as error:
        raise ToolError("The request is not valid HTTP. Check its headers.", category="validation") from error


@contextmanager
def blame_redirect(host: str) -> Generator[None, None, None]:
    """Attribute errors of a redirect to the host that sent it, not to the caller."""
    try:
        yield
    except ToolError as error:
        category = "permanent" if error.category == "validation" else error.category
        raise ToolError(f"The host {host!r} redirects. {error.message}", category=category) from error


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


class _CappedStream(httpx2.AsyncByteStream):
    """The compressed bytes of a response, up to a cap, since a decoder may consume input without any output."""

    def __init__(self, reply: httpcore2.Response, cap: int) -> None:
        assert isinstance(reply.stream, AsyncIterable)
        self._reply = reply
        self._stream = reply.stream
        self._left = cap
        self.exhausted = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        number = 0
        async for piece in self._stream:
            yield piece
            self._left -= len(piece) + PIECE_COST
            if self._left < 0:
                self.exhausted = True
                return
            number += 1
            if number % PIECES_AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await self._reply.aclose()


class Fetcher:
    """Fetches URLs within limits, through a guard. An async context manager that owns its connections.

    It keeps nothing between fetches except open connections. Fetches may run concurrently.
    """

    def __init__(
        self,
        *,
        guard: Guard | None = None,
        limits: Limits | None = None,
        ssl_context: ssl.SSLContext | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
        user_id: str | None = None,
    ) -> None:
        """`network` opens the connections that the guard permits; by default these are real sockets.

        `user_id` is the user whose share of name look-ups the fetches use.
        """
        self.limits = limits or Limits()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl_context or _ssl_context(),
            network_backend=GuardedBackend(guard or Guard(), network, user_id),
            max_connections=20,
            keepalive_expiry=5.0,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await self._pool.aclose()

    async def fetch(
        self,
        url: str,
        *,
        method: Method = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
        max_bytes: int | None = None,
    ) -> FetchResult:
        """Fetch a URL and follow its redirects, except one that would turn the request into a GET without its body.

        Any response is a result, whatever its status. A body that is too long, too slow or incomplete is returned as
        far as it was received, with `truncated` set. Raises `ToolError` without a response: `permission` (a refused
        host, header or redirect), `validation`, `not_found`, `timeout`, `transient` or `permanent`. Cancelling closes
        the connection.
        """
        if body is not None and (method in ("GET", "HEAD") or len(body) > MAX_BODY):
            message = f"A body needs another method than {method}, and at most {MAX_BODY} characters."
            raise ToolError(message, category="validation")
        keep = self.limits.max_bytes if max_bytes is None else min(max_bytes, self.limits.max_bytes)
        hop = Hop(
            method, read_url(url), read_headers(headers or {}), None if body is None else body.encode(errors="replace")
        )
        deadline = anyio.current_time() + self.limits.total_seconds
        try:
            with anyio.fail_after(self.limits.total_seconds):
                final, response, redirects = await self._follow(hop, keep)
        except TimeoutError:
            raise ToolError(
                f"The host {hop.url.host!r} did not answer within {self.limits.total_seconds:g} seconds.",
                category="timeout",
            ) from None
        try:
            return make_result(final, response, redirects, await self._read(response, keep, deadline))
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def _follow(self, hop: Hop, keep: int) -> tuple[Hop, httpx2.Response, list[str]]:
        """Send a request, and follow its redirects. The response is open."""
        redirects: list[str] = []
        response = await self._send(hop, keep)
        while response.status_code in REDIRECTS and (location := response.headers.get("location")):
            if becomes_get(hop.method, response.status_code):
                break
            await response.aclose()
            with blame_redirect(hop.url.host):
                if len(redirects) == self.limits.max_redirects:
                    raise ToolError(f"There are more than {len(redirects)} redirects.", category="permanent")
                redirects.append(str(hop.url))
                hop = redirected(hop, location)
                response = await self._send(hop, keep)
        return hop, response, redirects

    async def _send(self, hop: Hop, keep: int) -> httpx2.Response:
        """Send one request. The response is open, its body unread."""
        defaults = {"user-agent": "callboard", "accept": "*/*", "accept-encoding": ", ".join(sorted(CODINGS))}
        request = httpx2.Request(hop.method, hop.url, headers={**defaults, **hop.headers}, content=hop.body)
        timeouts = dict.fromkeys(("read", "write", "pool"), self.limits.total_seconds)
        with translate_errors(hop.url.host):
            reply = await self._pool.handle_async_request(
                httpcore2.Request(
                    hop.method,
                    httpcore2.URL(
                        scheme=hop.url.raw_scheme, host=hop.url.raw_host, port=hop.url.port, target=hop.url.raw_path
                    ),
                    headers=request.headers.raw,
                    content=hop.body,
                    extensions={"timeout": {**timeouts, "connect": self.limits.connect_seconds}},
                )
            )
        cap = 4 * keep + READ_AHEAD  # a body in small pieces takes up to four times its size
        stream = cast("Any", reply).extensions.get("network_stream")  # the library does not type its extensions
        if isinstance(stream, MeteredStream):
            stream.allow(cap)
        return httpx2.Response(reply.status, headers=reply.headers, stream=_CappedStream(reply, cap), request=request)

    async def _read(self, response: httpx2.Response, keep: int, deadline: float) -> Body:
        """Read and decompress a body in pieces, up to the size limit, the deadline or an error."""
        named = response.headers.get_list("content-encoding", split_commas=True)
        codings = [coding for coding in (name.strip().lower() for name in named) if coding not in ("", "identity")]
        # Nested compression multiplies: one small piece could keep a decoder busy past any deadline.
        if len(codings) > 1 or not CODINGS.issuperset(codings):
            return Body(b"", "The body is in an encoding that was not requested, and is not returned.")
        data = bytearray()
        with anyio.CancelScope(deadline=deadline):
            try:
                async with aclosing(response.aiter_bytes()) as pieces:
                    async for piece in pieces:
                        room = keep - len(data)
                        data += piece[:room]
                        if len(piece) > room:
                            return Body(bytes(data), f"The body is truncated after {keep} bytes.")
            except httpx2.DecodingError:
                return Body(bytes(data), "The rest of the body could not be decompressed.")
            except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError):
                return Body(bytes(data), BROKEN)
            except httpcore2.TimeoutException:
                return Body(bytes(data), SLOW)
            exhausted = isinstance(response.stream, _CappedStream) and response.stream.exhausted
            return Body(bytes(data), f"The body is truncated after {len(data)} bytes." if exhausted else None)
        return Body(bytes(data), SLOW)


def _host(arguments: Mapping[str, Any]) -> str | None:
    """The first host and port of a call, which its breaker counts by."""
    try:
        _, host, port = origin(read_url(arguments["url"]))
    except ToolError:
        return None
    return f"{host.decode()}:{port}"


BY_HOST = BreakerPolicy(scope="user_target", target=_host)
"""A breaker for each user and host, for tools whose argument `url` is the address of a fetch."""


def fetch_tools(*, guard: Guard | None = None, limits: Limits | None = None) -> tuple[Tool, ...]:
    """Make the toolkit's tools with a guard and limits. Each call opens and closes its own connections."""

    @tool(namespace="http", group="web", tags=("network",), idempotent=True, timeout=30.0, breaker=BY_HOST)
    async def http_fetch(
        ctx: ToolContext,
        url: Annotated[str, Field(description="Address to fetch, beginning with https:// or http://")],
        method: Annotated[
            Literal["GET", "HEAD"], Field(description="GET for the content, HEAD for status and headers alone")
        ] = "GET",
        headers: Annotated[tuple[Header, ...], Field(description="Request headers to send")] = (),
        max_bytes: Annotated[
            int, Field(ge=1, le=2_000_000, description="Truncate the content after this many bytes")
        ] = DEFAULT_BYTES,
    ) -> FetchResult:
        """Fetch a web page or an API resource from the public internet and return its text.

        Redirects are followed. An error status such as 404 is a result, not a failure. Private and local addresses are
        refused. Binary content is described, not returned.
        """
        fields = {header.name: header.value for header in headers}
        async with Fetcher(guard=guard, limits=limits, user_id=ctx.user_id) as fetcher:
            return await fetcher.fetch(url, method=method, headers=fields, max_bytes=max_bytes)

    @tool(namespace="http", group="web", tags=("network",), timeout=30.0, breaker=BY_HOST)
    async def http_post(
        ctx: ToolContext,
        url: Annotated[str, Field(description="Address to send to, beginning with https:// or http://")],
        body: Annotated[str, Field(max_length=MAX_BODY, description="Content to send, as text")],
        content_type: Annotated[str, Field(description="Media type of the content")] = "application/json",
        headers: Annotated[tuple[Header, ...], Field(description="Further request headers to send")] = (),
        max_bytes: Annotated[
            int, Field(ge=1, le=2_000_000, description="Truncate the response after this many bytes")
        ] = DEFAULT_BYTES,
    ) -> FetchResult:
        """Send content to a web address on the public internet by HTTP POST and return the text of the response.

        It may change data there, so send it once. An error status is a result, not a failure; so is a redirect to an
        address to which the content would not be sent. Private and local addresses are refused.
        """
        fields = {header.name: header.value for header in headers} | {"content-type": content_type}
        async with Fetcher(guard=guard, limits=limits, user_id=ctx.user_id) as fetcher:
            return await fetcher.fetch(url, method="POST", headers=fields, body=body, max_bytes=max_bytes)

    return http_fetch, http_post


tools = fetch_tools()
http_fetch, http_post = tools
