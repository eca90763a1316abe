"""Words of a text, as memory is searched: the same for every store, whatever its own full-text parser does.

A word is a run of letters and digits, without differences of case, accents and Unicode form. Scripts that are written
without spaces are split into single characters.
"""

import re
import unicodedata

MAX_TEXT = 20_000
"""Characters of a text that are searched."""
MAX_WORD = 64
"""Characters of a word that are compared."""
MAX_TERMS = 16
"""Words of a query that are searched for."""
PREFIX_LENGTH = 3
"""The number of characters from which on a word also finds longer words."""

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
)
WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
"""A word of a folded text."""


def words_of(text: str) -> list[str]:
    """Return the words at the beginning of a text, in order, with repetitions."""
    return [word[:MAX_WORD] for word in WORD.findall(fold(text[:MAX_TEXT]))]


def terms_of(query: str) -> list[str]:
    """Return the words that a query asks for, without repetitions. Empty if it has no letters and digits."""
    return list(dict.fromkeys(words_of(query)))[:MAX_TERMS]


def is_prefix(term: str) -> bool:
    """Return whether a term also finds longer words that begin with it."""
    return len(term) >= PREFIX_LENGTH


def fold(text: str) -> str:
    """Return a text without differences of case, accents and Unicode form."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(each for each in plain if unicodedata.category(each)[0] != "M")
