"""The operations of an API as a toolset."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import urljoin, urlsplit

import anyio.to_thread

from callboard import CallboardError, RegistrationError, RetryPolicy, Tool, ToolContext, dynamic_tool

from ..http import Fetcher, FetchResult, Guard, Limits
from ..http.fetch import Method
from .document import Document, Fields, Operation
from .request import Credentials, make_request
from .response import read_response

log = logging.getLogger("callboard.toolkits.openapi")

IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE"})
DOCUMENT_LIMITS = Limits(max_bytes=20_000_000, total_seconds=30.0)
RETRY = RetryPolicy(max_attempts=3, base_delay=0.5, max_delay=10.0)
MAX_DESCRIPTION = 1_024


class OpenApiToolset:
    """One tool for each operation of an API. A document at a URL is loaded when the toolset is entered."""

    def __init__(
        self,
        source: Fields | str | bytes,
        *,
        server: str | None,
        secrets: Mapping[str, str],
        tags: Iterable[str] | None,
        paths: str | None,
        namespace: str,
        guard: Guard | None,
        limits: Limits | None,
        timeout: float,
    ) -> None:
        self._source = source
        self._server = server
        self._secrets = secrets
        self._tags = None if tags is None else frozenset(tags)
        self._paths = None if paths is None else re.compile(paths)
        self._namespace = namespace
        self._guard = guard
        self._limits = limits or Limits(total_seconds=timeout)
        self._timeout = timeout
        self._tools: tuple[Tool, ...] = ()
        self.skipped: dict[str, str] = {}
        """Operations that could not become tools, with the reasons."""
        if not self._is_address:
            self._build(Document(source), server)

    @property
    def _is_address(self) -> bool:
        return isinstance(self._source, str) and self._source.startswith(("https://", "http://"))

    async def __aenter__(self) -> Self:
        if self._is_address and not self._tools:
            address = cast("str", self._source)
            async with Fetcher(guard=self._guard, limits=DOCUMENT_LIMITS) as fetcher:
                answer = await fetcher.fetch(address, headers={"accept": "application/json"})
            if answer.status != 200 or answer.truncated:
                raise RegistrationError(f"The OpenAPI document cannot be loaded: status {answer.status}.")
            await anyio.to_thread.run_sync(self._load, answer)  # hundreds of operations take seconds
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def tools(self) -> Sequence[Tool]:
        """The tools, in the order of the document."""
        return self._tools

    def on_change(self, callback: Callable[[], Any]) -> None:
        """Do nothing: the tools do not change."""

    def _load(self, answer: FetchResult) -> None:
        document = Document(answer.text)
        self._build(document, self._server or urljoin(answer.url, document.server or "/"))

    def _build(self, document: Document, server: str | None) -> None:
        base = (server or document.server or "").rstrip("/")
        if urlsplit(base).scheme not in ("https", "http"):
            raise RegistrationError(f"The document names no server with an address ({base or 'none'}). Pass server=….")
        credentials = Credentials(document, self._secrets)
        made: list[Tool] = []
        for operation in document.operations(self.skipped):
            if not self._is_wanted(operation):
                continue
            try:
                made.append(self._tool(base, operation, credentials))
            except CallboardError as error:
                self.skipped[f"{operation.method} {operation.path}"] = str(error)
        for place, reason in self.skipped.items():
            log.warning("%s of %s is not a tool: %s", place, document.title, reason)
        self._tools = tuple(made)

    def _is_wanted(self, operation: Operation) -> bool:
        if self._tags is not None and self._tags.isdisjoint(operation.tags):
            return False
        return self._paths is None or self._paths.search(operation.path) is not None

    def _tool(self, base: str, operation: Operation, credentials: Credentials) -> Tool:
        if self._server is None and operation.server is not None:
            base = urljoin(f"{base}/", operation.server)
        is_idempotent = operation.method in IDEMPOTENT

        async def send(arguments: dict[str, Any], context: ToolContext) -> Any:
            request = make_request(base, operation, arguments, credentials)
            method, headers = cast("Method", operation.method), request.headers
            if operation.method == "POST" and context.idempotency_key is not None:
                headers.setdefault("idempotency-key", context.idempotency_key)
            async with Fetcher(guard=self._guard, limits=self._limits, user_id=context.user_id) as fetcher:
                answer = await fetcher.fetch(request.url, method=method, headers=headers, body=request.body)
            return read_response(answer, is_idempotent=is_idempotent)

        return dynamic_tool(
            operation.name,
            operation.input_schema,
            send,
            description=operation.description[:MAX_DESCRIPTION],
            idempotent=is_idempotent,
            timeout=self._timeout,
            tags=("network", *operation.tags),
            retry=RETRY if is_idempotent else None,
            namespace=self._namespace,
        )


def openapi_toolset(
    source: Fields | str | bytes,
    *,
    server: str | None = None,
    secrets: Mapping[str, str] | None = None,
    tags: Iterable[str] | None = None,
    paths: str | None = None,
    namespace: str = "api",
    guard: Guard | None = None,
    limits: Limits | None = None,
    timeout: float = 30.0,
) -> OpenApiToolset:
    """Make a toolset of an OpenAPI document (a dictionary, or JSON text) or of its address.

    `server` replaces the server of the document. `secrets` are the credentials by the names of the security schemes:
    a key, a token, or `user:password`; the model never sees them. `tags` and `paths` (a regular expression) choose
    operations. `guard` allows networks other than the public internet. `timeout` is the seconds for a call, and
    `limits` has other bounds for its request. Raises `RegistrationError`.
    """
    return OpenApiToolset(
        source,
        server=server,
        secrets=secrets or {},
        tags=tags,
        paths=paths,
        namespace=namespace,
        guard=guard,
        limits=limits,
        timeout=timeout,
    )
