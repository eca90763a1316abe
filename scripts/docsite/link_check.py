"""The check of a built site: every link, image, style and script inside it leads somewhere, anchors included."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Document:
    """The targets and the links of an HTML file."""

    anchors: set[str] = field(default_factory=set[str])
    links: list[str] = field(default_factory=list[str])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.document = Document()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.document.anchors |= {given[name] for name in ("id", "name") if name in given}
        name = {"a": "href", "link": "href", "img": "src", "script": "src"}.get(tag)
        if name in given and given.get("rel") not in ("edit", "canonical"):
            self.document.links.append(given[name])


def read_document(path: Path) -> Document:
    """Read an HTML file."""
    reader = _Reader()
    reader.feed(path.read_text())
    return reader.document


def broken_links(site: Path) -> Iterator[str]:
    """Yield a sentence for every link that leads nowhere. Links to other hosts are not followed."""
    documents = {path: read_document(path) for path in sorted(site.rglob("*.html"))}
    for path, document in documents.items():
        for link in document.links:
            if problem := _problem(site, path, link, documents):
                yield f"{path.relative_to(site)}: {link} {problem}"


def _problem(site: Path, path: Path, link: str, documents: dict[Path, Document]) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or path.name == "404.html":  # its links begin at the root of the host
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site.resolve()) or not target.exists():
        return "does not exist"
    anchor = unquote(parts.fragment)
    if anchor and target in documents and anchor not in documents[target].anchors:
        return "has no such heading"
    return None
