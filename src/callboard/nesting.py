"""How deeply a JSON text is nested. Every reader has a limit, and what is kept must be readable wherever it is sent."""

from pydantic_core import from_json

READABLE = 200
"""How many levels Pydantic reads. It writes 254."""

DEEPEST = 190
"""How many levels arguments and results may have; the others are left free for what they are sent in."""

_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NO_BRACKETS_OR_QUOTES = bytes(set(_NO_BRACKETS) - set(b'"'))


def is_deeper(written: bytes, levels: int) -> bool:
    """Whether a JSON text has more levels of lists and objects than that.

    Only a text with brackets enough for that is looked at: without all else, and then without its levels, one after the
    other from within. Where strings have brackets in them (then an odd number of quotes stands between two brackets) it
    is read instead, within as many levels as are left free.
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
    room = READABLE - levels
    try:
        from_json(b"[" * room + written + b"]" * room)
    except ValueError:
        return True
    return False
