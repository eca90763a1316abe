"""Nesting depth of JSON text. Every reader has a limit, and a stored document must be readable wherever it is sent."""

from pydantic_core import from_json

MAX_READABLE_DEPTH = 200
"""Levels that Pydantic reads. It writes 254."""

MAX_DEPTH = 190
"""Levels that arguments and results may have. The rest is reserved for the envelopes they are sent in."""

_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NO_BRACKETS_OR_QUOTES = bytes(set(_NO_BRACKETS) - set(b'"'))


def exceeds_depth(written: bytes, levels: int) -> bool:
    """Whether a JSON text has more than `levels` levels of arrays and objects.

    A text with too few brackets is not examined. Otherwise everything but the brackets is removed, and then one level
    after the other, from the inside. Where strings contain brackets (an odd number of quotes stands between two
    brackets) the text is decoded instead, inside as many extra levels as are reserved.
    """
    if len(written) <= 2 * levels:
        return False
    brackets = written.translate(_ONE_KIND, _NO_BRACKETS)
    if len(brackets) <= 2 * levels:
        return False
    quoted = written.translate(_ONE_KIND, _NO_BRACKETS_OR_QUOTES)
    paired = 2 * quoted.count(b'""') == len(quoted) - len(brackets)
    if paired and (b"\\" not in written or b'\\"' not in written):
        return all(brackets := brackets.replace(b"[]", b"") for _ in range(levels))
    room = MAX_READABLE_DEPTH - levels
    try:
        from_json(b"[" * room + written + b"]" * room)
    except ValueError:
        return True
    return False
