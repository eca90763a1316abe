"""The tokens of an HTML page: start tags, end tags and texts, in linear time for any input.

Pages are hostile input, and the parsers at hand are not linear: the one of the standard library takes quadratic time
for some malformed pages, and one that follows the standard takes it for deep nesting. Text to read needs neither.
"""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

RAW = frozenset({"script", "style", "textarea", "title", "noscript", "iframe", "xmp"})
"""Elements whose content is text up to their end tag, whatever it contains."""
MAX_TAG = 10_000
"""Characters of a tag that are examined for attributes."""

_TEXT = re.compile(r"(?:[^<]+|<(?![a-zA-Z/!?]))+")
_NAME = re.compile(r"/?[a-zA-Z][a-zA-Z0-9:-]*")
# The value is optional: if it were needed, a long name without one would be tried again from each of its characters.
_ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?""")
# Possessive, so that it never reads a character twice. A quote that is not closed is an ordinary character.
_TAG_END = re.compile(r"""[^>=]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?+[^>=]*+)*+>""")
_RAW_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in RAW}


class Token(NamedTuple):
    """A tag, or a text (without a name)."""

    name: str
    """The name of an element in lower case, with a slash before it for an end tag. Empty for a text."""
    text: str
    """The decoded text, or the attributes of a tag as they are written."""

    def attribute(self, wanted: str) -> str:
        """The value of an attribute, or an empty text."""
        for name, double, single, bare in _ATTRIBUTE.findall(self.text[:MAX_TAG]):
            if name.lower() == wanted:
                return _decoded(double or single or bare)
        return ""


def html_tokens(page: str) -> Iterator[Token]:
    """Yield the tokens of a page. The content of raw elements is one text; comments are left out."""
    at, end = 0, len(page)
    reads_quotes = True  # until they hide the end of a tag: every later tag could search the rest of the page for it
    while at < end:
        if text := _TEXT.match(page, at):
            yield Token("", _decoded(text[0]))
            at = text.end()
            continue
        if page.startswith(("<!", "<?"), at):
            closing = "-->" if page.startswith("<!--", at) else ">"
            found = page.find(closing, at)
            at = end if found < 0 else found + len(closing)
            continue
        named = _NAME.match(page, at + 1)
        ended = _TAG_END.match(page, named.end()) if named is not None and reads_quotes else None
        reads_quotes = reads_quotes and (named is None or ended is not None)
        close = page.find(">", at) if ended is None else ended.end() - 1
        if close < 0:  # no other tag ends
            return
        if named is None:  # `</` without a name
            at = close + 1
            continue
        name = named[0].lower()
        yield Token(name, page[named.end() : close])
        at = close + 1
        if name in RAW:
            found = _RAW_ENDS[name].search(page, at)
            stop = end if found is None else found.start()
            yield Token("", _decoded(page[at:stop]) if name == "title" else "")
            at = stop


def _decoded(text: str) -> str:
    """Replace character references. A text with one of thousands of digits, which Python refuses to read, stays."""
    try:
        return html.unescape(text)
    except ValueError:
        return text
