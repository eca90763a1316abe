"""The end of an error message about an unknown name: the most similar known one, and the list of all."""

from collections.abc import Iterable
from difflib import get_close_matches


def known_names(name: str, known: Iterable[str]) -> str:
    """Return `Did you mean …?`, if a known name is similar, followed by `Known: …`."""
    names = [str(each) for each in known]
    similar = get_close_matches(name, names, n=1)
    return (f"Did you mean {similar[0]!r}? " if similar else "") + f"Known: {', '.join(names)}."
