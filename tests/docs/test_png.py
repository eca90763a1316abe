"""The palette of pictures: colours stay, whatever filter the rows of the original have (O4)."""

import struct
import zlib

import pytest

from scripts.png import with_palette

WIDTH = 4
ROWS = [
    [(250, 248, 244), (250, 248, 244), (29, 26, 23), (155, 43, 51)],
    [(155, 43, 51), (29, 26, 23), (250, 248, 244), (0, 0, 255)],
    [(0, 0, 0), (255, 255, 255), (1, 2, 3), (255, 0, 128)],
]


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def picture(lines: bytes, kind: int = 2) -> bytes:
    header = struct.pack(">IIBBBBB", WIDTH, len(ROWS), 8, kind, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def filtered(number: int) -> bytes:
    """Return the rows with a filter, by the formulas of the PNG specification."""
    lines, above = b"", [0] * WIDTH * 3
    for row in ROWS:
        plain = [value for colour in row for value in colour]
        line: list[int] = []
        for index, value in enumerate(plain):
            a, b, c = (plain[index - 3] if index > 2 else 0), above[index], (above[index - 3] if index > 2 else 0)
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line.append((value - (0, a, b, (a + b) // 2, nearest)[number]) % 256)
        lines += bytes([number, *line])
        above = plain
    return lines


@pytest.mark.parametrize("number", range(5))
def test_o4_pictures_keep_their_colours(number: int) -> None:
    made = with_palette(picture(filtered(number)))
    palette = made[made.index(b"PLTE") + 4 :]
    [length] = struct.unpack(">I", made[made.index(b"IDAT") - 4 : made.index(b"IDAT")])
    start = made.index(b"IDAT") + 4
    indexes = zlib.decompress(made[start : start + length])
    found = [
        [tuple(palette[3 * each : 3 * each + 3]) for each in indexes[at + 1 : at + 1 + WIDTH]]
        for at in range(0, len(indexes), WIDTH + 1)
    ]
    assert found == ROWS


def test_o4_other_kinds_of_pictures_are_refused() -> None:
    with pytest.raises(ValueError, match="not plain RGB"):
        with_palette(picture(b"", kind=6))
