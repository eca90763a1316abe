"""JSON text that every reader accepts and reads alike. Pydantic writes more than that, and results are stored."""

from pydantic_core import from_json, to_json

MAX_DIGITS = 4300
"""Digits that an integer may have. Neither Pydantic nor Python reads more."""

_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_TOO_LONG = b"0" * (MAX_DIGITS + 1)
_OF_NUMBERS = b"0123456789.-"
_N, _I = b"NI"


def check_readability(written: bytes) -> None:
    """Raise `ValueError` for a text that some reader refuses, or that two readers may read differently.

    These are integers that are too long, numbers that are not finite, and duplicate keys (a number and the string of
    the same digits). A cheap search for each comes first; the text is decoded only where the search finds a candidate.
    """
    zeros = written.translate(_ZEROS)
    if len(written) > MAX_DIGITS and _TOO_LONG in zeros:
        _read(written, f"a number has more than {MAX_DIGITS:,} digits")
    if (_N in written or _I in written) and (b"NaN" in written or b"Infinity" in written):
        _read(written, "it contains a number that is not finite")
    if zeros.find(b'0":') >= 0 and _loses_a_key(written):
        raise ValueError("an object has the same key twice")


def _read(written: bytes, problem: str) -> None:
    try:
        from_json(written, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(problem) from error


def _loses_a_key(written: bytes) -> bool:
    """Whether decoding drops a duplicate key. Only keys that consist of digits can be duplicates here."""
    if b'"":' not in written.translate(None, _OF_NUMBERS):
        return False
    return to_json(from_json(written)).count(b":") < written.count(b":")
