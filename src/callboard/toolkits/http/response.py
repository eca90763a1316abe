"""The result of a fetch: status, selected headers, and the body, if it is text. No I/O."""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2
from pydantic import BaseModel, ConfigDict, Field

from .request import Hop, becomes_get

RETURNED_HEADERS = frozenset(
    {
        "allow", "cache-control", "content-disposition", "content-language", "content-length", "content-range",
        "content-type", "date", "etag", "expires", "last-modified", "link", "location", "retry-after", "server",
        "www-authenticate",
    }
)  # fmt: skip
NOT_FOLLOWED = (
    "The redirect to the address in the header location was not followed, because the body would not be sent there. "
    "Fetch that address to see whether the request had an effect."
)
BROKEN = "The connection broke before the end of the body."
SLOW = "The body came too slowly; the rest is missing."
INTERRUPTED: Mapping[str | None, str] = {BROKEN: "transient", SLOW: "timeout"}
"""The notes of bodies that another attempt may receive in full, and the categories of errors for them."""
BINARY_KINDS = ("image/", "audio/", "video/", "font/")

_CHARSET = re.compile(
    r"utf-?8|utf-?16(le|be)?|(us-)?ascii|iso-?8859-\d{1,2}|latin-?1|(windows-|cp)125\d|koi8-[ru]|gb2312|gbk|gb18030|big5"
    r"|shift[-_]jis|sjis|euc-(jp|kr)|iso-2022-jp"
)
_DECLARATION = re.compile(
    rb"""<(?:meta\b[^>]*?\bcharset|\?xml\b[^>]*?\bencoding)\s*=\s*["']?\s*([a-z0-9_-]{1,40})""", re.IGNORECASE
)
DECLARED_WITHIN = 1_024
"""Bytes of a page that are searched for the declaration of its charset, as in the HTML standard."""


class FetchResult(BaseModel):
    """The response of a server, with any status."""

    model_config = ConfigDict(frozen=True)

    status: int = Field(description="HTTP status code")
    url: str = Field(description="Final address, after redirects")
    content_type: str | None = Field(description="Content-Type of the response")
    headers: dict[str, str] = Field(description="Selected response headers")
    text: str = Field(description="The body as text; empty if there is none, or if it is not text")
    truncated: bool = Field(description="Whether a part of the body is missing")
    bytes_received: int = Field(description="Bytes of the body that were kept, after decompression")
    redirects: list[str] = Field(description="Addresses that redirected, in order")
    note: str | None = Field(description="Why text is truncated or missing, or a redirect was not followed")


@dataclass(frozen=True, slots=True)
class Body:
    """The kept part of a response's body, and the reason if it is not all."""

    data: bytes
    truncation: str | None = None


def _declared_charset(data: bytes, kind: str) -> str | None:
    """The charset that a page or an XML document declares, unless its first bytes show that it is another one."""
    if not kind.endswith(("html", "xml")) or data.startswith(codecs.BOM_UTF8):
        return None
    found = _DECLARATION.search(data[:DECLARED_WITHIN])
    name = "" if found is None else found[1].decode().lower()
    return None if name.replace("-", "").startswith("utf16") else name  # a declaration in UTF-16 is not found


def read_text(data: bytes, kind: str, charset: str | None, whole: bool) -> str | None:
    """Decode a body, or return None if it is binary, whatever its type says. A partial last character is dropped."""
    if not data:
        return ""
    if kind.startswith(BINARY_KINDS) and not kind.endswith("+xml"):
        return None
    stated = (charset or _declared_charset(data, kind) or "").lower()
    name = stated if _CHARSET.fullmatch(stated) else "utf-8"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = "utf-16"
    try:
        decoder = codecs.getincrementaldecoder("utf-8-sig" if name in ("utf-8", "utf8") else name)("replace")
    except LookupError:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    text = decoder.decode(data, final=whole)
    sample = text[:4096]
    unreadable = sum(char == "\ufffd" or (char < " " and char not in "\t\n\r\f\x1b") for char in sample)
    return None if "\0" in text or unreadable * 20 > len(sample) else text


def make_result(hop: Hop, response: httpx2.Response, redirects: list[str], body: Body) -> FetchResult:
    """Make the result of a fetch."""
    content_type = response.headers.get("content-type")
    kind = (content_type or "").partition(";")[0].strip().lower()[:100]
    text = read_text(body.data, kind, response.charset_encoding, whole=body.truncation is None)
    note = body.truncation
    if text is None:
        note = f"The body is binary ({kind or 'of no stated type'}, {len(body.data)} bytes) and is not returned."
    if becomes_get(hop.method, response.status_code) and "location" in response.headers:
        note = NOT_FOLLOWED if note is None else f"{NOT_FOLLOWED} {note}"
    return FetchResult(
        status=response.status_code,
        url=str(hop.url),
        content_type=content_type and content_type[:200],
        headers={
            name: value[:1000]
            for name, value in response.headers.items()
            if name in RETURNED_HEADERS or name.startswith(("ratelimit", "x-ratelimit-"))
        },
        text=text or "",
        truncated=body.truncation is not None,
        bytes_received=len(body.data),
        redirects=redirects,
        note=note,
    )
