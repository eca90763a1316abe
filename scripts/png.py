"""Makes PNG files of pages smaller: a palette of 256 colours instead of three bytes per pixel.

Pages consist of few colours and the shades at the edges of letters. The most frequent colours are kept exactly; each
other one becomes the nearest of them. Needs only the standard library.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = 256
_RGB, _PALETTE = 2, 3
"""Types of colour in a header."""

Colour = tuple[int, int, int]


def with_palette(picture: bytes) -> bytes:
    """Return a picture of 8-bit RGB, as Chromium makes it, with a palette. Raises `ValueError` for other pictures."""
    chunks = list(_chunks(picture))
    width, height, depth, kind, *_, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    if (depth, kind, interlaced) != (8, _RGB, 0):
        raise ValueError("The picture is not plain RGB with 8 bits.")
    pixels = zlib.decompress(b"".join(data for name, data in chunks if name == b"IDAT"))
    rows = [list(zip(*[iter(row)] * 3, strict=True)) for row in _rows(pixels, width * 3)]
    indexes, palette = _reduced(Counter(colour for row in rows for colour in row))
    lines = b"".join(b"\0" + bytes([indexes[colour] for colour in row]) for row in rows)
    made = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, _PALETTE, 0, 0, 0),
        b"PLTE": b"".join(bytes(colour) for colour in palette),
        b"IDAT": zlib.compress(lines, 9),
        b"IEND": b"",
    }
    return _SIGNATURE + b"".join(_chunk(name, data) for name, data in made.items())


def _reduced(counts: "Counter[Colour]") -> tuple[dict[Colour, int], list[Colour]]:
    """Return the index of each colour, and the palette."""
    palette = [colour for colour, _ in counts.most_common(_COLOURS)]
    indexes = {colour: index for index, colour in enumerate(palette)}
    for colour in counts:
        if colour not in indexes:
            nearest = min(palette, key=lambda each: sum((a - b) ** 2 for a, b in zip(each, colour, strict=True)))
            indexes[colour] = indexes[nearest]
    return indexes, palette


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = len(_SIGNATURE)
    while position < len(picture):
        [length] = struct.unpack_from(">I", picture, position)
        yield picture[position + 4 : position + 8], picture[position + 8 : position + 8 + length]
        position += length + 12


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _rows(pixels: bytes, length: int) -> Iterator[bytearray]:
    """Yield the rows of a picture, with their filters undone."""
    above = bytearray(length)
    for start in range(0, len(pixels), length + 1):
        row = bytearray(pixels[start + 1 : start + 1 + length])
        _undo(pixels[start], row, above)
        yield row
        above = row


def _undo(filter_type: int, row: bytearray, above: bytearray) -> None:
    """Undo the filter of a row in place. Three bytes before a byte is the same channel of the pixel to its left."""
    for index in range(len(row)) if filter_type else ():
        left, corner = (row[index - 3], above[index - 3]) if index >= 3 else (0, 0)
        match filter_type:
            case 1:
                predicted = left
            case 2:
                predicted = above[index]
            case 3:
                predicted = (left + above[index]) // 2
            case _:
                predicted = _paeth(left, above[index], corner)
        row[index] = (row[index] + predicted) & 255


def _paeth(left: int, above: int, corner: int) -> int:
    """Return the neighbour nearest to left + above - corner, as the PNG specification defines it."""
    distances = (abs(above - corner), abs(left - corner), abs(left + above - 2 * corner))
    return (left, above, corner)[distances.index(min(distances))]
