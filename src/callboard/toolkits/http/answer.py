"""What a model is told of a response: its status, the headers of use, and its body as text, if it is text. No I/O."""

import codecs
import re
from dataclasses import dataclass

import httpx2
from pydantic import BaseModel, ConfigDict, Field

from .request import Hop

SHOWN_HEADERS = frozenset(
    {
        "allow", "cache-control", "content-disposition", "content-language", "content-length", "content-range",
        "content-type", "date", "etag", "expires", "last-modified", "link", "location", "retry-after", "server",
        "www-authenticate",
    }
)  # fmt: skip
BINARY_KINDS = ("image/", "audio/", "video/", "font/")

_CHARSET = re.compile(
    r"utf-?8|utf-?16(le|be)?|(us-)?ascii|iso-?8859-\d{1,2}|latin-?1|(windows-|cp)125\d|koi8-[ru]|gb2312|gbk|gb18030|big5"
    r"|shift[-_]jis|sjis|euc-(jp|kr)|iso-2022-jp"
)


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
class Body:
    """What was kept of a response's body, and why that is not all of it, if it is not."""

    data: bytes
    cut: str | None = None


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
