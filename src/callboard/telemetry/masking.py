"""Masking of secrets in text, by known values and by patterns.

Known values are always found. Patterns find keys, tokens, and passwords with their names beside them; a secret that
looks like an ordinary word is not found, so do not log values that may be secret.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Self, cast
from urllib.parse import quote

from ..schemas.secrets import MASK

SHORTEST = 6
"""Characters of a known value; a shorter one would match any text."""
MAX_DEPTH, MAX_ITEMS, MAX_TEXT, MAX_NUMBER = 6, 100, 10_000, 1e300
"""The limits of masked data; the rest is cut off."""

_NAMES = (
    r"pass(?:word|wd|phrase)|pwd|secret|token(?!s)|credentials?|mnemonic|seed[_-]?phrase|"
    r"(?:api|access|private|signing|encryption|session)[_-]?key|apikey|authorization|cookie"
)
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_FOLDERS = frozenset({"PWD", "OLDPWD"})
"""Variables of the shell with the working folder, which paths in tracebacks begin with."""
_PATTERNS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}-----|\Z)", re.DOTALL), MASK),
    (re.compile(r"((?:cookie|authorization)\\*[\"']?\s*[:=]\s*\\*[\"']?)[^\r\n\"']+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"\b(bearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"(?<=://)[^\s/?#]+(?=@)"), MASK),
    (
        # The first part is consumed even if no second one follows: else a text of many beginnings takes quadratic time.
        re.compile(r"\beyJ[\w-]{8,}+(\.[\w-]{4,}(?:\.[\w-]*)?)?"),
        lambda found: MASK if found[1] else found[0],
    ),
    (
        re.compile(
            r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk)[-_][\w-]{16,}|gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{15,}|"
            r"xox[a-z]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|hf_\w{20,}|npm_\w{20,}|cb_[\w-]{16,})"
        ),
        MASK,
    ),
    (
        re.compile(
            rf"((?:{_NAMES})\\*[\"']?\s*[:=]\s*)"
            r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s,;&}\])]+)",
            re.IGNORECASE | re.DOTALL,
        ),
        rf"\1{MASK}",
    ),
)


class Masker:
    """Masks known values and text that matches the pattern of a secret."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = {form for value in values if _is_maskable(value) for form in _forms(value)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    @classmethod
    def of_environment(cls, *more: str, environment: Mapping[str, str] = os.environ) -> Self:
        """Create a masker of these values and of the environment's variables with secret names."""
        names = [name for name in environment if name not in _FOLDERS and is_secret_name(name)]
        return cls((*more, *(environment[name] for name in names)))

    def text(self, text: str) -> str:
        """Return a text with all secrets masked."""
        text = self._without_known(text)
        for pattern, mask in _PATTERNS:
            text = pattern.sub(mask, text)
        return self._without_known(text)

    def data(self, value: Any, depth: int = 0) -> Any:
        """Return JSON data with strings masked, and fields of secret names replaced by a mask."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and -MAX_NUMBER < value < MAX_NUMBER:  # finite, as JSON requires
            return value
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            if depth == MAX_DEPTH:
                return "(nested too deeply)"
            if isinstance(value, Mapping):
                given = cast("Mapping[Any, Any]", value)
                return {
                    self.text(name): MASK if is_secret_name(name) else self.data(child, depth + 1)
                    for name, child in ((_as_text(name), child) for name, child in islice(given.items(), MAX_ITEMS))
                }
            return [self.data(child, depth + 1) for child in islice(cast("Iterable[Any]", value), MAX_ITEMS)]
        return self.text(_as_text(value))[:MAX_TEXT]

    def _without_known(self, text: str) -> str:
        while self._known is not None and self._known.search(text):  # masking may join the parts of another
            text = self._known.sub(MASK, text)
        return text


def is_secret_name(name: str) -> bool:
    """Whether a field, header or variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def _as_text(value: Any) -> str:
    try:
        return value if isinstance(value, str) else repr(value)
    except Exception:
        return f"({type(value).__name__})"


def _is_maskable(value: str) -> bool:
    return len(value) >= SHORTEST and not set(value) <= set(MASK)


def _forms(value: str) -> tuple[str, ...]:
    """Return the forms of a value: plain, in a URL, in JSON, and in Python's repr."""
    encoded = quote(value, safe="", errors="replace")
    return value, encoded, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]
