"""A web page as Markdown, read in one pass, without recursion or a tree.

What is not text to read (scripts, styles, menus, forms) is left out. Where a page has `main` or `article`, only the
largest of them is kept.
"""

import re
from collections import Counter
from typing import Annotated
from urllib.parse import urljoin

from pydantic import BaseModel, Field

from ..http import FetchResult
from .html_tokens import RAW, Token, html_tokens
from .search import UNTRUSTED

MAX_LINKS = 200
MAX_LINK_CHARACTERS = 2_000
MAX_LIST_DEPTH = 6
MIN_MAIN = 200
"""Characters of a main part; a shorter one is not the content of the page."""

_DROPPED = frozenset({"aside", "button", "dialog", "footer", "form", "nav", "object", "select", "svg", "template"})
"""Elements that are left out with all they contain. The text of raw elements is left out by the reader of tokens."""
_BLOCKS = frozenset(
    {
        "address", "article", "blockquote", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "header", "hr",
        "main", "ol", "p", "section", "summary", "table", "tbody", "thead", "ul",
    }
)  # fmt: skip
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
_SPACE = re.compile(r"[ \t\r\n\f]+")
_BLANK_LINES = re.compile(r"\n{3,}")


class Link(BaseModel):
    """A link of a page."""

    text: str
    url: str


class WebPage(BaseModel):
    """A page of the web as text."""

    url: Annotated[str, Field(description="Final address, after redirects")]
    title: str
    text: Annotated[str, Field(description="The content as Markdown")]
    total_characters: int
    next_start: Annotated[int | None, Field(description="Where to read on, or null at the end")]
    links: list[Link]
    note: Annotated[str | None, Field(description="Why content is missing")] = None
    notice: str = UNTRUSTED


def read_page(answer: FetchResult, *, start: int, max_characters: int, max_links: int) -> WebPage:
    """Make a page of a response."""
    kind = (answer.content_type or "").partition(";")[0].strip().lower()
    title, text, links = "", answer.text, list[Link]()
    if kind in ("text/html", "application/xhtml+xml") or (kind == "" and "<html" in answer.text[:1000].lower()):
        title, text, links = _convert(answer.text, answer.url)
    end = start + max_characters
    return WebPage(
        url=answer.url,
        title=title,
        text=text[start:end],
        total_characters=len(text),
        next_start=end if end < len(text) else None,
        links=links[:max_links],
        note=answer.note,
    )


def html_to_markdown(html: str, url: str = "") -> str:
    """Convert a page to Markdown. Links are resolved against the page's address."""
    return _convert(html, url)[1]


def _convert(html: str, url: str) -> tuple[str, str, list[Link]]:
    reader = _read(html, url, _DROPPED)
    text = reader.markdown()
    if len(text) < MIN_MAIN:  # some servers put the whole page in a form
        with_forms = _read(html, url, _DROPPED - {"form"})
        if len(found := with_forms.markdown()) >= MIN_MAIN:
            reader, text = with_forms, found
    return reader.title(), text, list(reader.links.values())


def _read(html: str, url: str, dropped: frozenset[str]) -> "_PageReader":
    reader = _PageReader(url, dropped)
    for token in html_tokens(html):
        reader.read(token)
    return reader


class _PageReader:
    """Collects the text of a page, and notes where its main part is."""

    def __init__(self, url: str, dropped: frozenset[str]) -> None:
        self.links: dict[str, Link] = {}
        self._address = url
        self._base: str | None = None
        """The address that the page names as the base of its links."""
        self._left_out = dropped
        self._parts: list[str] = []
        self._title = ""
        self._open = ""
        """The start tag before the current token."""
        self._dropped: Counter[str] = Counter()
        """How often each dropped element is open."""
        self._depth = 0
        """How many dropped elements are open."""
        self._lists: list[int | None] = []
        self._is_preformatted = False
        self._starts: list[int] = []
        self._mains: list[tuple[int, int]] = []
        self._link: tuple[str, int] | None = None

    def title(self) -> str:
        return _SPACE.sub(" ", self._title).strip()[:300]

    def markdown(self) -> str:
        start, end = max(self._mains, key=lambda span: span[1] - span[0], default=(0, len(self._parts)))
        text = _tidy("".join(self._parts[start:end]))
        if len(text) < MIN_MAIN:  # a script would fill it
            text = _tidy("".join(self._parts))
        return text

    def read(self, token: Token) -> None:
        name = token.name
        if name == "":
            self._read_text(token.text)
        elif name.removeprefix("/") in self._left_out:
            self._drop(name)
        elif self._depth == 0:
            if name.startswith("/"):
                self._end(name[1:])
            else:
                self._start(name, token)
        self._open = name

    def _drop(self, name: str) -> None:
        element = name.removeprefix("/")
        if name == element:
            self._dropped[element] += 1
            self._depth += 1
        elif self._dropped[element] > 0:
            self._dropped[element] -= 1
            self._depth -= 1

    def _read_text(self, text: str) -> None:
        if self._open == "title" and not self._title:
            self._title = text
        elif self._open not in RAW and self._depth == 0:
            self._parts.append(text if self._is_preformatted else _SPACE.sub(" ", text))

    def _start(self, name: str, token: Token) -> None:
        if name in ("main", "article"):
            self._starts.append(len(self._parts))
        if name in _BLOCKS:
            self._parts.append("\n\n")
        match name:
            case "br":
                self._parts.append("\n")
            case "hr":
                self._parts.append("---\n\n")
            case "ul":
                self._lists.append(None)
            case "ol":
                self._lists.append(0)
            case "li":
                self._start_item()
            case "tr":
                self._parts.append("\n| ")
            case "blockquote":
                self._parts.append("> ")
            case "pre":
                self._is_preformatted = True
                self._parts.append("\n\n```\n")
            case "img":
                if alternative := _SPACE.sub(" ", token.attribute("alt")).strip()[:300]:
                    self._parts.append(f"[image: {alternative}]")
            case "base" if self._base is None and (address := token.attribute("href")):
                self._base = _resolved(address, self._address) or self._address
            case "a":
                self._link = (token.attribute("href"), len(self._parts))
            case _ if name in _HEADINGS:
                self._parts.append(f"\n\n{'#' * int(name[1])} ")
            case _ if name in _MARKS and not self._is_preformatted:
                self._parts.append(_MARKS[name])
            case _:
                pass

    def _end(self, name: str) -> None:
        if name in ("main", "article") and self._starts:
            self._mains.append((self._starts.pop(), len(self._parts)))
        if name in _BLOCKS or name in _HEADINGS:
            self._parts.append("\n\n")
        match name:
            case "ul" | "ol" if self._lists:
                self._lists.pop()
            case "td" | "th":
                self._parts.append(" | ")
            case "pre":
                self._is_preformatted = False
                self._parts.append("\n```\n\n")
            case "a" if self._link is not None:
                self._end_link(*self._link)
                self._link = None
            case _ if name in _MARKS and not self._is_preformatted:
                self._parts.append(_MARKS[name])
            case _:
                pass

    def _start_item(self) -> None:
        mark = "- "
        if self._lists and (number := self._lists[-1]) is not None:
            self._lists[-1] = number + 1
            mark = f"{number + 1}. "
        depth = min(len(self._lists), MAX_LIST_DEPTH)
        self._parts.append(f"\n{'  ' * max(0, depth - 1)}{mark}")

    def _end_link(self, address: str, start: int) -> None:
        """Write a link as Markdown if its address can be opened; else its text stays."""
        text = _SPACE.sub(" ", "".join(self._parts[start:])).strip()
        url = _resolved(address, self._base or self._address)
        if not url or not text:
            return
        is_elsewhere = url.partition("#")[0] != self._address.partition("#")[0]
        if is_elsewhere and len(self.links) < MAX_LINKS:
            self.links.setdefault(url, Link(text=text[:200], url=url))
        if len(self._mains) == 0 or self._mains[-1][1] <= start:
            self._parts[start:] = [f"[{text}]({url})"]


def _resolved(address: str, base: str) -> str:
    """An address in full, or an empty text if it cannot be opened."""
    try:
        url = urljoin(base, address.strip())
    except ValueError:
        return ""
    return url if url.startswith(("https://", "http://")) and len(url) <= MAX_LINK_CHARACTERS else ""


def _tidy(text: str) -> str:
    """Remove blank lines beyond one, and blanks at the ends of lines."""
    return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip()
