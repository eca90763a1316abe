"""Texts cut to a length that fits into a message."""


def shorten(text: str, limit: int = 200) -> str:
    """Cut a text to `limit` characters and append its full length."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
