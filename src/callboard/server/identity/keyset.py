"""The JSON Web Key Set that verifies tokens, from a file or a URL, loaded on demand."""

import asyncio
import logging
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Mapping
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any, cast

from jwt import PyJWK, PyJWKSet
from jwt.exceptions import PyJWTError
from pydantic_core import from_json

from ...clock import Clock
from .token_errors import KeySetUnavailable

log = logging.getLogger("callboard.identity")

LIFETIME = 300.0
"""Seconds after which the set is reloaded, and a removed key stops working."""
COOLDOWN = 30.0
"""Seconds between two loads, also when tokens name unknown keys."""
STALE = 3_600.0
"""Seconds for which a set is used while it cannot be reloaded."""
TIMEOUT = 5.0
LARGEST = 1 << 20
"""Bytes of a key set."""


class KeySet:
    """The public keys of a source, without keys that are private, for encryption, or of other algorithms."""

    def __init__(
        self,
        source: str,
        algorithms: Collection[str],
        clock: Clock,
        read: Callable[[str], bytes] | None = None,
    ) -> None:
        self._source = source
        self._algorithms = frozenset(algorithms)
        self._clock = clock
        self._read = read or read_source
        self._keys: list[PyJWK] = []
        self._loaded: float | None = None
        self._tried: float | None = None
        self._loading = asyncio.Lock()

    async def find(self, kid: str | None) -> PyJWK | None:
        """Return the key of an id, or the only key for a token without one. Raises `KeySetUnavailable`."""
        if self._age(self._loaded) >= LIFETIME and not (self._keys and self._loading.locked()):
            await self._load()  # one request waits for it, others use the present keys
        if self._loaded is None or self._age(self._loaded) >= STALE:
            raise KeySetUnavailable("The keys that verify tokens cannot be loaded. Try again later.")
        key = self._pick(kid)
        if key is None and kid is not None:
            await self._load()
            key = self._pick(kid)
        return key

    def _pick(self, kid: str | None) -> PyJWK | None:
        if kid is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.key_id == kid), None)

    def _age(self, when: float | None) -> float:
        return STALE if when is None else self._clock.monotonic() - when

    async def _load(self) -> None:
        """Load the set, unless within the cooldown. A failure keeps the present keys."""
        async with self._loading:
            if self._age(self._tried) < COOLDOWN:
                return
            self._tried = self._clock.monotonic()
            try:
                async with asyncio.timeout(2 * TIMEOUT):
                    content = await asyncio.to_thread(self._read, self._source)
                self._keys = usable_keys(content, self._algorithms)
                self._loaded = self._clock.monotonic()
            except (OSError, ValueError, PyJWTError, HTTPException, TimeoutError) as error:
                log.error("cannot load the key set: %s", type(error).__name__)  # its text may contain the URL


def usable_keys(content: bytes, algorithms: Collection[str]) -> list[PyJWK]:
    """Return the keys of a set that verify tokens, each bound to its own algorithm rather than the token's.

    Raises `ValueError`, or an error of PyJWT, if there is none.
    """
    document = from_json(content)
    entries: Any = cast(dict[str, Any], document).get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("it has no list of keys")
    objects = [cast(dict[str, Any], entry) for entry in cast(list[Any], entries) if isinstance(entry, dict)]
    public = [entry for entry in objects if _verifies(entry)]
    keys = [key for key in PyJWKSet(public).keys if key.algorithm_name in algorithms]
    if not keys:
        raise ValueError("it has no usable key")
    return keys


def _verifies(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is a public key for signatures. A private key does not belong in a key set."""
    operations = entry.get("key_ops")
    if entry.get("kty") == "oct" or "d" in entry or entry.get("use", "sig") != "sig":
        return False
    return operations is None or (isinstance(operations, list) and "verify" in operations)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Disables redirects: only the configured server is trusted."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def read_source(source: str) -> bytes:
    """Read a file or URL. It blocks, so call it in a thread."""
    if source.startswith(("https://", "http://")):
        request = urllib.request.Request(source, headers={"accept": "application/json"})  # noqa: S310
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT) as answer:
                content = answer.read(LARGEST + 1)
        except urllib.error.HTTPError as error:
            error.close()  # the error is also an open response
            raise OSError(f"its server responds with {error.code}") from None
    else:
        with Path(source).open("rb") as file:
            content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError("it is too large")
    return content
