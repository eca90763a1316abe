"""Fetching a URL for a model: one request, its redirects, a bounded answer.

`Fetcher` owns the connections and the limits; the tools at the end of the file are thin layers over it. Which addresses
may be reached is the guard's business, below, at the socket. There is no client object on purpose: nothing here keeps
cookies, reads proxies or credentials from the environment, or follows a redirect that was not looked at.
"""

import functools
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import anyio
import httpcore2
import httpx2
from pydantic import Field

from callboard import BreakerPolicy, Tool, ToolError, tool

from .answer import Body, FetchResult, report
from .guard import Guard, GuardedBackend
from .request import Header, Hop, origin, read_headers, read_url, redirected

Method = Literal["GET", "HEAD", "POST"]

MAX_BODY = 1_000_000
READ_AHEAD = 65_536
DEFAULT_BYTES = 100_000

REDIRECTS = frozenset({301, 302, 303, 307, 308})
CODINGS = frozenset({"gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one fetch may cost."""

    max_bytes: int = 2_000_000
    """Most of a body that is ever kept, after decompression, whatever a caller asks for."""
    total_seconds: float = 20.0
    """For everything together: look-ups, connections, redirects and the body."""
    connect_seconds: float = 8.0
    max_redirects: int = 5


@contextmanager
def translated(host: str) -> Generator[None, None, None]:
    """Turn the library's errors into errors that a model can act on."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise ToolError(f"The host {host!r} did not answer in time.", category="timeout") from error
    except httpcore2.ConnectError as error:
        if any(isinstance(cause, ssl.SSLError) for cause in error.args):
            raise ToolError(f"No trusted TLS connection to {host!r} is possible.", category="permanent") from error
        raise ToolError(f"The host {host!r} does not accept the connection.", category="transient") from error
    except httpcore2.RemoteProtocolError as error:
        # With a cause it is a malformed message, without one the server left before it had answered.
        if any(isinstance(cause, Exception) for cause in error.args):
            raise ToolError(f"The host {host!r} did not answer with valid HTTP.", category="permanent") from error
        raise ToolError(f"The host {host!r} closed the connection without an answer.", category="transient") from error
    except (httpcore2.NetworkError, OSError) as error:
        raise ToolError(f"The connection to {host!r} broke.", category="transient") from error
    except httpcore2.ProtocolError as error:
        raise ToolError("The request could not be put into HTTP. Check its headers.", category="validation") from error


@contextmanager
def redirecting(host: str) -> Generator[None, None, None]:
    """Lay what goes wrong on a redirect at the door of the host that asked for it, not of the caller."""
    try:
        yield
    except ToolError as error:
        category = "permanent" if error.category == "validation" else error.category
        raise ToolError(f"The host {host!r} redirects. {error.message}", category=category) from error


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


class _Wire(httpx2.AsyncByteStream):
    """A response's bytes as they come, up to a cap: what a decoder swallows without any output has to end as well."""

    def __init__(self, reply: httpcore2.Response, cap: int) -> None:
        assert isinstance(reply.stream, AsyncIterable)
        self._reply = reply
        self._stream = reply.stream
        self._left = cap
        self.exhausted = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece
            self._left -= len(piece)
            if self._left < 0:
                self.exhausted = True
                return

    async def aclose(self) -> None:
        await self._reply.aclose()


class Fetcher:
    """Fetches URLs within limits, through a guard. An async context manager that owns its connections.

    Nothing is remembered from one fetch to the next but open connections; several fetches may run at once.
    """

    def __init__(
        self,
        *,
        guard: Guard | None = None,
        limits: Limits | None = None,
        ssl_context: ssl.SSLContext | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        """`network` opens the connections that the guard permits; by default these are real sockets."""
        self.limits = limits or Limits()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl_context or _ssl_context(),
            network_backend=GuardedBackend(guard or Guard(), network),
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
        """Fetch a URL and follow its redirects.

        Any answer is a result, whatever its status. A body that is too long, too slow or broken off comes back as far
        as it came, with `truncated` set. Raises `ToolError` when there is no answer: `permission` (a host, header or
        redirect that is refused), `validation`, `not_found`, `timeout`, `transient` or `permanent`. Cancelling closes
        the connection.
        """
        if body is not None and (method != "POST" or len(body) > MAX_BODY):
            raise ToolError(f"A body needs the method POST and at most {MAX_BODY} characters.", category="validation")
        keep = self.limits.max_bytes if max_bytes is None else min(max_bytes, self.limits.max_bytes)
        hop = Hop(
            method, read_url(url), read_headers(headers or {}), None if body is None else body.encode(errors="replace")
        )
        deadline = anyio.current_time() + self.limits.total_seconds
        try:
            with anyio.fail_after(self.limits.total_seconds):
                final, response, passed = await self._follow(hop, keep)
        except TimeoutError:
            raise ToolError(
                f"The host {hop.url.host!r} did not answer within {self.limits.total_seconds:g} seconds.",
                category="timeout",
            ) from None
        try:
            return report(final, response, passed, await self._read(response, keep, deadline))
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def _follow(self, hop: Hop, keep: int) -> tuple[Hop, httpx2.Response, list[str]]:
        """Send a request, and what its redirects ask for, until an answer is none. The response is open."""
        passed: list[str] = []
        response = await self._send(hop, keep)
        while response.status_code in REDIRECTS and (location := response.headers.get("location")):
            await response.aclose()
            with redirecting(hop.url.host):
                if len(passed) == self.limits.max_redirects:
                    raise ToolError(f"There are more than {len(passed)} redirects.", category="permanent")
                passed.append(str(hop.url))
                hop = redirected(hop, response.status_code, location)
                response = await self._send(hop, keep)
        return hop, response, passed

    async def _send(self, hop: Hop, keep: int) -> httpx2.Response:
        """Send one request. The response is open, its body unread."""
        defaults = {"user-agent": "callboard", "accept": "*/*", "accept-encoding": ", ".join(sorted(CODINGS))}
        request = httpx2.Request(hop.method, hop.url, headers={**defaults, **hop.headers}, content=hop.body)
        timeouts = dict.fromkeys(("read", "write", "pool"), self.limits.total_seconds)
        with translated(hop.url.host):
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
        return httpx2.Response(
            reply.status, headers=reply.headers, stream=_Wire(reply, keep + READ_AHEAD), request=request
        )

    async def _read(self, response: httpx2.Response, keep: int, deadline: float) -> Body:
        """Read and decompress a body piece by piece, and stop at the size, at the deadline or at a break."""
        named = response.headers.get_list("content-encoding", split_commas=True)
        codings = [coding for coding in (name.strip().lower() for name in named) if coding not in ("", "identity")]
        # Layers of compression multiply: one small piece could keep a decoder busy beyond any deadline.
        if len(codings) > 1 or not CODINGS.issuperset(codings):
            return Body(b"", "The body is in an encoding that was not asked for, and is not shown.")
        data = bytearray()
        with anyio.CancelScope(deadline=deadline):
            try:
                async with aclosing(response.aiter_bytes()) as pieces:
                    async for piece in pieces:
                        room = keep - len(data)
                        data += piece[:room]
                        if len(piece) > room:
                            return Body(bytes(data), f"The body is cut after {keep} bytes.")
            except httpx2.DecodingError:
                return Body(bytes(data), "The rest of the body could not be decompressed.")
            except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError):
                return Body(bytes(data), "The connection broke before the end of the body.")
            except httpcore2.TimeoutException:
                return Body(bytes(data), "The body came too slowly; the rest was not waited for.")
            exhausted = isinstance(response.stream, _Wire) and response.stream.exhausted
            return Body(bytes(data), f"The body is cut after {len(data)} bytes." if exhausted else None)
        return Body(bytes(data), "The body came too slowly; the rest was not waited for.")


def _host(arguments: Mapping[str, Any]) -> str | None:
    """The host and port that a call goes to first: what its breaker goes by."""
    try:
        _, host, port = origin(read_url(arguments["url"]))
    except ToolError:
        return None
    return f"{host.decode()}:{port}"


def fetch_tools(*, guard: Guard | None = None, limits: Limits | None = None) -> tuple[Tool, ...]:
    """The toolkit's tools over a guard and limits of one's own. Each call opens its own connections and closes them."""
    breaker = BreakerPolicy(scope="user_target", target=_host)

    @tool(namespace="http", group="web", tags=("network",), idempotent=True, timeout=30.0, breaker=breaker)
    async def http_fetch(
        url: Annotated[str, Field(description="Address to fetch, beginning with https:// or http://")],
        method: Annotated[
            Literal["GET", "HEAD"], Field(description="GET for the content, HEAD for status and headers alone")
        ] = "GET",
        headers: Annotated[tuple[Header, ...], Field(description="Request headers to send")] = (),
        max_bytes: Annotated[
            int, Field(ge=1, le=2_000_000, description="Cut the content after this many bytes")
        ] = DEFAULT_BYTES,
    ) -> FetchResult:
        """Fetch a web page or an API resource from the public internet and return its text.

        Redirects are followed. An error status such as 404 is a result, not a failure. Private and local addresses are
        refused. Binary content is described, not returned.
        """
        given = {header.name: header.value for header in headers}
        async with Fetcher(guard=guard, limits=limits) as fetcher:
            return await fetcher.fetch(url, method=method, headers=given, max_bytes=max_bytes)

    @tool(namespace="http", group="web", tags=("network",), timeout=30.0, breaker=breaker)
    async def http_post(
        url: Annotated[str, Field(description="Address to send to, beginning with https:// or http://")],
        body: Annotated[str, Field(max_length=MAX_BODY, description="Content to send, as text")],
        content_type: Annotated[str, Field(description="Media type of the content")] = "application/json",
        headers: Annotated[tuple[Header, ...], Field(description="Further request headers to send")] = (),
        max_bytes: Annotated[
            int, Field(ge=1, le=2_000_000, description="Cut the answer after this many bytes")
        ] = DEFAULT_BYTES,
    ) -> FetchResult:
        """Send content to a web address on the public internet by HTTP POST and return the answer's text.

        It may change something there, so send it once. An error status is a result, not a failure. Private and local
        addresses are refused.
        """
        given = {header.name: header.value for header in headers} | {"content-type": content_type}
        async with Fetcher(guard=guard, limits=limits) as fetcher:
            return await fetcher.fetch(url, method="POST", headers=given, body=body, max_bytes=max_bytes)

    return http_fetch, http_post


tools = fetch_tools()
http_fetch, http_post = tools
