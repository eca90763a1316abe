"""What JSON text every reader reads, and reads alike. Pydantic writes more than that, and what is written, is kept."""

from pydantic_core import from_json, to_json

LONGEST = 4300
"""How many digits a whole number may have: more are read neither by Pydantic nor by Python."""

_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_TOO_LONG = b"0" * (LONGEST + 1)
_OF_NUMBERS = b"0123456789.-"
_N, _I = b"NI"


def check_readable(written: bytes) -> None:
    """Raise `ValueError` for a text that some reader refuses, or in which two readers may see two things.

    Those are a number that is too long, one that is not finite, and an object with a key twice: a number, and the
    string that says it. Each is looked for in a cheap way first, and the text is read only where it may be there.
    """
    zeros = written.translate(_ZEROS)
    if len(written) > LONGEST and _TOO_LONG in zeros:
        _read(written, f"a number has more than {LONGEST:,} digits")
    if (_N in written or _I in written) and (b"NaN" in written or b"Infinity" in written):
        _read(written, "it contains a number that is not finite")
    if zeros.find(b'0":') >= 0 and _loses_a_key(written):
        raise ValueError("an object has the same key twice")


def _read(written: bytes, doubt: str) -> None:
    try:
        from_json(written, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(doubt) from error


def _loses_a_key(written: bytes) -> bool:
    """Whether reading it takes one of two equal keys away. Only a key that is nothing but a number is in doubt."""
    if b'"":' not in written.translate(None, _OF_NUMBERS):
        return False
    return to_json(from_json(written)).count(b":") < written.count(b":")
