"""Fetching a URL for a model: one request, its redirects, a bounded answer.

`Fetcher` owns the connections and the limits; the tools at the end of the file are thin layers over it. Which addresses
may be reached is the guard's business, below, at the socket. There is no client object on purpose: nothing here keeps
cookies, reads proxies or credentials from the environment, or follows a redirect that was not looked at.
"""

import codecs
import functools
import re
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import anyio
import httpcore2
import httpx2
from pydantic import BaseModel, ConfigDict, Field

from callboard import Tool, ToolError, tool

from .guard import Guard, GuardedBackend

Method = Literal["GET", "HEAD", "POST"]

MAX_URL = 8_192
MAX_HEADERS = 32
MAX_HEADER_BYTES = 16_384
MAX_BODY = 1_000_000
READ_AHEAD = 65_536
DEFAULT_BYTES = 100_000

REDIRECTS = frozenset({301, 302, 303, 307, 308})
CODINGS = frozenset({"gzip", "deflate"})

# They frame the message or steer the connection, which is the library's work.
REFUSED_HEADERS = frozenset(
    {
        "accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "te",
        "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
# What may follow a redirect to another origin. Anything else could be a credential under a name that nobody foresaw.
CARRIED_HEADERS = frozenset({"accept", "accept-language", "user-agent"})
SHOWN_HEADERS = frozenset(
    {
        "allow", "cache-control", "content-disposition", "content-language", "content-length", "content-range",
        "content-type", "date", "etag", "expires", "last-modified", "link", "location", "retry-after", "server",
        "www-authenticate",
    }
)  # fmt: skip
BINARY_KINDS = ("image/", "audio/", "video/", "font/")

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_CHARSET = re.compile(
    r"utf-?8|utf-?16(le|be)?|(us-)?ascii|iso-?8859-\d{1,2}|latin-?1|(windows-|cp)125\d|koi8-[ru]|gb2312|gbk|gb18030|big5"
    r"|shift[-_]jis|sjis|euc-(jp|kr)|iso-2022-jp"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one fetch may cost."""

    max_bytes: int = 2_000_000
    """Most of a body that is ever kept, after decompression, whatever a caller asks for."""
    total_seconds: float = 20.0
    """For everything together: look-ups, connections, redirects and the body."""
    connect_seconds: float = 8.0
    max_redirects: int = 5


# A list of these, unlike an object with any keys, can be said in every dialect.
class Header(BaseModel):
    """One request header."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="Name of the header, such as Accept-Language")
    value: str = Field(description="Value of the header, one line of ASCII")


class FetchResult(BaseModel):
    """What a server answered. An error status is an answer too."""

    model_config = ConfigDict(frozen=True)

    status: int = Field(description="HTTP status code")
    url: str = Field(description="Address that answered, after redirects")
    content_type: str | None = Field(description="Content-Type as the server gave it")
    headers: dict[str, str] = Field(description="The response headers that are of use to a reader")
    text: str = Field(description="The body as text; empty if there is none or it is not text")
    truncated: bool = Field(description="Whether the body was longer than what is given here")
    bytes_received: int = Field(description="Bytes of the body that were received and kept, after decompression")
    redirects: list[str] = Field(description="Addresses that redirected, in order, before the one that answered")
    note: str | None = Field(description="Why text is cut or missing, if it is")


@dataclass(frozen=True, slots=True)
class Hop:
    """One request of a chain of redirects."""

    method: str
    url: httpx2.URL
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """What was kept of a response's body, and why that is not all of it, if it is not."""

    data: bytes
    cut: str | None = None


def read_url(text: str) -> httpx2.URL:
    """Parse and vet a URL, up to but not including its host's address. Raises `ToolError`."""
    try:
        url = httpx2.URL(text.strip())
    except (httpx2.InvalidURL, UnicodeError):
        raise ToolError(
            "This is not a valid URL. Give one like https://example.com/page.", category="validation"
        ) from None
    if not url.scheme:
        raise ToolError("The URL has no scheme. It must begin with https:// or http://.", category="validation")
    if url.scheme not in ("http", "https"):
        raise ToolError(f"Only http and https can be fetched, not {url.scheme[:40]!r}.", category="permission")
    if url.userinfo:
        raise ToolError("A URL with a user name or password in it is refused. Leave it out.", category="permission")
    if not url.raw_host or len(str(url)) > MAX_URL or not (url.port is None or 0 < url.port < 65536):
        raise ToolError("The URL has no host, a port out of range, or is too long.", category="validation")
    # The root's dot is right for a look-up and wrong for TLS, which knows names without it.
    return url.copy_with(host=url.raw_host.decode("ascii").removesuffix("."), fragment=None)


def read_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Vet a caller's request headers; names come back in lower case. Raises `ToolError`."""
    read: dict[str, str] = {}
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ToolError(
                f"The header {name[:40]!r} is refused: names are tokens, values one line of ASCII.",
                category="validation",
            )
        lower = name.lower()
        if lower in REFUSED_HEADERS or lower.startswith("proxy-"):
            raise ToolError(f"The header {name[:40]!r} cannot be set. Leave it out.", category="permission")
        read[lower] = value.strip()
    if len(read) > MAX_HEADERS or sum(len(name) + len(value) for name, value in read.items()) > MAX_HEADER_BYTES:
        raise ToolError("There are too many headers, or they are too long.", category="validation")
    return read


def origin(url: httpx2.URL) -> tuple[str, bytes, int]:
    """Scheme, host and port: what a credential belongs to."""
    return url.scheme, url.raw_host, url.port or (443 if url.scheme == "https" else 80)


def redirected(hop: Hop, status: int, location: str) -> Hop:
    """The request that a redirect asks for. Raises `ToolError` where following it would be unsafe."""
    try:
        url = read_url(str(hop.url.join(location)))
    except (httpx2.InvalidURL, ValueError):
        raise ToolError("The new URL is not valid.", category="permanent") from None
    if hop.url.scheme == "https" and url.scheme == "http":
        raise ToolError(
            "A step from https to http is refused. If that is acceptable, fetch the http address itself.",
            category="permission",
        )
    method, body, headers = hop.method, hop.body, dict(hop.headers)
    if method == "POST" and status in (301, 302, 303):
        method, body = "GET", None
        headers.pop("content-type", None)
    if origin(url) != origin(hop.url):
        if body is not None:
            raise ToolError(
                f"Sending the body on to {url.host!r} is refused. If that is meant, send it there itself.",
                category="permission",
            )
        headers = {name: value for name, value in headers.items() if name in CARRIED_HEADERS}
    return Hop(method, url, headers, body)


def read_text(data: bytes, kind: str, charset: str | None, whole: bool) -> str | None:
    """A body as text, or None if it is not text, whatever its type says. Half a character at the end is dropped."""
    if not data:
        return ""
    if kind.startswith(BINARY_KINDS) and not kind.endswith("+xml"):
        return None
    name = charset.lower() if charset and _CHARSET.fullmatch(charset.lower()) else "utf-8"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = "utf-16"
    try:
        decoder = codecs.getincrementaldecoder("utf-8-sig" if name in ("utf-8", "utf8") else name)("replace")
    except LookupError:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    text = decoder.decode(data, final=whole)
    sample = text[:4096]
    strange = sum(char == "\ufffd" or (char < " " and char not in "\t\n\r\f\x1b") for char in sample)
    return None if "\0" in text or strange * 20 > len(sample) else text


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


def report(hop: Hop, response: httpx2.Response, passed: list[str], body: Body) -> FetchResult:
    """What a model is told of a response."""
    content_type = response.headers.get("content-type")
    kind = (content_type or "").partition(";")[0].strip().lower()[:100]
    text = read_text(body.data, kind, response.charset_encoding, whole=body.cut is None)
    note = body.cut
    if text is None:
        note = f"The body is binary ({kind or 'of no stated type'}, {len(body.data)} bytes received) and is not shown."
    return FetchResult(
        status=response.status_code,
        url=str(hop.url),
        content_type=content_type and content_type[:200],
        headers={
            name: value[:1000]
            for name, value in response.headers.items()
            if name in SHOWN_HEADERS or name.startswith(("ratelimit", "x-ratelimit-"))
        },
        text=text or "",
        truncated=body.cut is not None,
        bytes_received=len(body.data),
        redirects=passed,
        note=note,
    )


def fetch_tools(*, guard: Guard | None = None, limits: Limits | None = None) -> tuple[Tool, ...]:
    """The toolkit's tools over a guard and limits of one's own. Each call opens its own connections and closes them."""

    @tool(namespace="http", group="web", tags=("network",), idempotent=True, timeout=30.0)
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

    @tool(namespace="http", group="web", tags=("network",), timeout=30.0)
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
