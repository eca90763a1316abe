"""JSON-RPC to the nodes of one chain: one request at a time, within bounds, with failover.

It knows HTTP and JSON-RPC, and nothing of contracts or tools. Addresses come from the operator and may be in any
network; they may contain keys, so that no error contains one.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

import anyio
import httpx2
from pydantic_core import from_json, to_json

from callboard import ToolError

from .chain import Chain
from .clock import Clock
from .endpoints import Endpoint, Endpoints
from .rpc_errors import NodeFault, name_error, rate_limited
from .values import read_quantity

MAX_RESPONSE = 8_000_000
"""Bytes of a response."""
MIN_SECRET = 6
"""Characters of a part of an address that may be a key."""
REQUEST_SECONDS = 10.0
"""Seconds for one request to one node."""
REFUSALS = (401, 402, 403)
"""Statuses that refuse the operator's key or plan, whatever error the body has."""
HEADERS = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}
EXTENSIONS = {"timeout": httpx2.Timeout(REQUEST_SECONDS, connect=4.0).as_dict()}


class RpcClient:
    """Requests to the nodes of a chain. It shares the connections of an HTTP transport that it does not own.

    A transport, and not a client, since there are no cookies, redirects or proxies here.
    """

    def __init__(self, chain: Chain, http: httpx2.AsyncBaseTransport, clock: Clock) -> None:
        self.chain = chain
        self._http = http
        self.sending = anyio.Lock()
        """Held from the choice of a nonce until its transaction is sent."""
        self._endpoints = Endpoints(chain.rpc_urls, clock)
        self._urls: dict[int, httpx2.URL] = {}
        self._next_id = 0

    async def call(self, method: str, *parameters: Any) -> Any:
        """Send a request and return its `result`.

        A node that fails, is slow, limits requests or is of another chain is skipped, and the next one is asked, also
        if it says so in an error of JSON-RPC. An error about the request is an answer: it raises at once. Raises
        `ToolError`: `Reverted`, or named by `name_error`; `rate_limited`, `timeout`, `transient` or `configuration` if
        no node answers.

        A request may reach two nodes. Send only what can be sent twice: reads, and signed transactions.
        """
        failure: ToolError | None = None
        for endpoint in self._endpoints.candidates():
            try:
                if not endpoint.is_verified:
                    await self._verify(endpoint)
                return await self._request(endpoint, method, parameters)
            except _NodeFailed as failed:
                self._endpoints.failed(endpoint, failed.error.retry_after)
                failure = _worse(failure, failed.error)
        assert failure is not None
        raise failure

    async def call_once(self, method: str, *parameters: Any) -> Any:
        """Send a request to one node only, for what must not be sent twice. Raises `ToolError`."""
        endpoint = self._endpoints.candidates()[0]
        try:
            if not endpoint.is_verified:
                await self._verify(endpoint)
            return await self._request(endpoint, method, parameters)
        except _NodeFailed as failed:
            self._endpoints.failed(endpoint, failed.error.retry_after)
            raise failed.error from None

    async def chain_id(self) -> int:
        """Ask a node for its chain id."""
        return read_quantity(await self.call("eth_chainId"), "a chain id")

    async def _verify(self, endpoint: Endpoint) -> None:
        """Check that a node is of this chain, once."""
        found = await self._request(endpoint, "eth_chainId", ())
        if found != (wanted := hex(self.chain.id)):
            raise _failed(
                f"A node of the chain {self.chain} is of another chain.",
                "configuration",
                f"address {endpoint.number} of the chain {self.chain.id} reports {str(found)[:20]!r}, not {wanted}",
            )
        endpoint.is_verified = True

    async def _request(self, endpoint: Endpoint, method: str, parameters: tuple[Any, ...]) -> Any:
        self._next_id = request_id = self._next_id + 1
        body = to_json({"jsonrpc": "2.0", "id": request_id, "method": method, "params": parameters})
        where = f"address {endpoint.number} of the chain {self.chain.id}, {method}"
        try:
            with anyio.fail_after(REQUEST_SECONDS):
                status, headers, content = await self._send(endpoint, body)
        except (httpx2.TimeoutException, TimeoutError):
            raise _failed(f"No node of the chain {self.chain} answers in time.", "timeout", where) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            report = f"{where}: {type(error).__name__}"
            raise _failed(f"No node of the chain {self.chain} can be reached.", "transient", report) from None
        fields = _fields(content)
        if status == 429:
            after = headers.get("retry-after", "")
            seconds = float(after) if after.isdecimal() and len(after) < 7 else None
            raise _NodeFailed(rate_limited(seconds, f"{where}: status 429"))
        if isinstance(error := fields.get("error"), dict) and status not in REFUSALS:
            named = name_error(method, cast("dict[str, Any]", error), has_failed=status >= 500)
            named.report = masked(named.report, endpoint.url)
            if named.category == "rate_limited" or isinstance(named, NodeFault):
                raise _NodeFailed(named)
            self._endpoints.succeeded(endpoint)
            raise named
        if status != 200 or "result" not in fields or fields.get("id") != request_id:
            raise self._unusable(where, status, content)
        self._endpoints.succeeded(endpoint)
        return fields["result"]

    async def _send(self, endpoint: Endpoint, body: bytes) -> tuple[int, httpx2.Headers, bytes]:
        request = httpx2.Request("POST", self._url(endpoint), content=body, headers=HEADERS, extensions=EXTENSIONS)
        response = await self._http.handle_async_request(request)
        try:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise httpx2.DecodingError("the body is compressed, which was not requested")
            content = bytearray()
            async for piece in response.aiter_raw():
                content += piece
                if len(content) > MAX_RESPONSE:
                    raise httpx2.DecodingError("the body is too large")
            return response.status_code, response.headers, bytes(content)
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    def _url(self, endpoint: Endpoint) -> httpx2.URL:
        if (url := self._urls.get(endpoint.number)) is None:
            url = self._urls[endpoint.number] = httpx2.URL(endpoint.url)
        return url

    def _unusable(self, where: str, status: int, content: bytes) -> "_NodeFailed":
        report = f"{where}: status {status}, {len(content)} bytes"
        if status in (*REFUSALS, 404, 405) or 300 <= status < 400:
            return _failed(f"A node of the chain {self.chain} refuses requests.", "configuration", report)
        if status >= 500 or status == 408:
            return _failed(f"The nodes of the chain {self.chain} are not available.", "transient", report)
        return _failed(f"A node of the chain {self.chain} does not answer with JSON-RPC.", "permanent", report)


def masked(text: str | None, url: str) -> str | None:
    """Replace the parts of an address in a text for operators: a node may repeat a key of its address."""
    for part in re.split(r"[^A-Za-z0-9_-]+", url.partition("://")[2]):
        if text is not None and len(part) >= MIN_SECRET:
            text = text.replace(part, "***")
    return text


class _NodeFailed(Exception):
    """A node did not give an answer, so that another one is asked."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(error.message)
        self.error = error


def _failed(message: str, category: str, report: str) -> _NodeFailed:
    return _NodeFailed(ToolError(message, category=category, report=report))


_ORDER = ("permanent", "configuration", "transient", "timeout", "rate_limited")


def _worse(before: ToolError | None, error: ToolError) -> ToolError:
    """Choose the error to raise if all nodes fail: one that another attempt may cure, and of limits the shortest."""
    if before is None:
        return error
    ranks = _ORDER.index(before.category), _ORDER.index(error.category)
    if ranks[0] == ranks[1] and error.retry_after is not None:
        return error if before.retry_after is None or error.retry_after < before.retry_after else before
    return error if ranks[1] > ranks[0] else before


def _fields(content: bytes) -> Mapping[str, Any]:
    try:
        read = from_json(content)
    except ValueError:
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}
