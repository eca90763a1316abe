"""The words of an entry of memory as a `tsvector`, which PostgreSQL's full-text index holds."""


def tsvector_text(words: str) -> str:
    """Return indexed words as the text of a `tsvector`: PostgreSQL's own parser would split some of them."""
    places: dict[str, list[str]] = {}
    for place, word in enumerate(words.split(), 1):
        places.setdefault(word, []).append(str(place))
    return " ".join(f"'{word}':{','.join(found)}" for word, found in places.items())
