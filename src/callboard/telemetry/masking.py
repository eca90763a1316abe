"""Secrets in texts, found by what is known of them and by what they look like, and masked.

Known values are always found. Patterns find what looks like a key, a token or a password that has its name beside it;
a secret that looks like any other word is not found, so nothing should be logged that may be one.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Self, cast
from urllib.parse import quote

from ..schemas.secrets import MASK

SHORTEST = 6
"""Known values that are shorter are not looked for: they would be found in any text."""
MAX_DEPTH, MAX_ITEMS, MAX_TEXT, MAX_NUMBER = 6, 100, 10_000, 1e300
"""How much of data is shown."""

_NAMES = (
    r"pass(?:word|wd|phrase)|pwd|secret|token(?!s)|credentials?|mnemonic|seed[_-]?phrase|"
    r"(?:api|access|private|signing|encryption|session)[_-]?key|apikey|authorization|cookie"
)
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_PATTERNS = (
    (re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}-----|\Z)", re.DOTALL), MASK),
    (re.compile(r"((?:cookie|authorization)\\*[\"']?\s*[:=]\s*\\*[\"']?)[^\r\n\"']+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"\b(bearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"(?<=://)[^\s/?#]+(?=@)"), MASK),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?"), MASK),
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
    """Masks secrets: these values, wherever they are, and whatever looks like one."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = {form for value in values if _is_worth_it(value) for form in _forms(value)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    @classmethod
    def of_environment(cls, *more: str, environment: Mapping[str, str] = os.environ) -> Self:
        """One that knows the values of the environment whose names say that they are secret, and these."""
        return cls((*more, *(value for name, value in environment.items() if is_secret_name(name))))

    def text(self, text: str) -> str:
        """The text with all secrets masked."""
        text = self._without_known(text)
        for pattern, mask in _PATTERNS:
            text = pattern.sub(mask, text)
        return self._without_known(text)

    def data(self, value: Any, depth: int = 0) -> Any:
        """Data that can be written as JSON: texts masked, fields with the names of secrets masked whole."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and -MAX_NUMBER < value < MAX_NUMBER:  # JSON cannot say the others
            return value
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            if depth == MAX_DEPTH:
                return "(too deep to be shown)"
            if isinstance(value, Mapping):
                given = cast("Mapping[Any, Any]", value)
                return {
                    self.text(name): MASK if is_secret_name(name) else self.data(child, depth + 1)
                    for name, child in ((_said(name), child) for name, child in islice(given.items(), MAX_ITEMS))
                }
            return [self.data(child, depth + 1) for child in islice(cast("Iterable[Any]", value), MAX_ITEMS)]
        return self.text(_said(value))[:MAX_TEXT]

    def _without_known(self, text: str) -> str:
        while self._known is not None and self._known.search(text):  # a mask beside what follows may make one again
            text = self._known.sub(MASK, text)
        return text


def is_secret_name(name: str) -> bool:
    """Whether a field, a header or a variable of that name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def _said(value: Any) -> str:
    try:
        return value if isinstance(value, str) else repr(value)
    except Exception:
        return f"({type(value).__name__})"


def _is_worth_it(value: str) -> bool:
    return len(value) >= SHORTEST and not set(value) <= set(MASK)


def _forms(value: str) -> tuple[str, ...]:
    """A value as it stands in a text, in an address, in JSON, and as Python shows it."""
    encoded = quote(value, safe="", errors="replace")
    return value, encoded, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]
