"""Tables: drawn to fit on a terminal, aligned lines elsewhere."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .console import out, print_text

MIN_WIDTH = 32
"""Width that a column of long texts needs; if less is left, its texts are printed below their row."""


class Column(NamedTuple):
    """A column, and the style of its cells on a terminal."""

    title: str
    style: str = ""
    wraps: bool = False
    """Whether its cells wrap. Such columns come last."""


Row = Sequence[str | Text]


def show_table(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Print rows under column titles. Cells are safe text on one line."""
    if not out.is_terminal:
        _print_lines(columns, rows)
        return
    long = [index for index, column in enumerate(columns) if column.wraps]
    fixed = sum(_width(columns[index].title, rows, index) + 2 for index in range(len(columns)) if index not in long)
    needed = max((_width("", rows, index) for index in long), default=0)
    if long and out.width - fixed < min(needed, MIN_WIDTH * len(long)):
        _print_stacked(columns[: long[0]], columns[long[0] :], rows)
    else:
        out.print(_table(columns, rows))


def _table(columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column.title, style=column.style, no_wrap=not column.wraps, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def _print_stacked(columns: Sequence[Column], long: Sequence[Column], rows: Sequence[Row]) -> None:
    """Print rows for a narrow terminal, with long texts below their row."""
    widths = [_width(column.title, rows, index) for index, column in enumerate(columns)]
    titles = [Text(column.title, "bold") for column in columns]
    for row in [titles, *rows]:
        line = Text()
        for cell, column, width in zip(row, columns, widths, strict=False):
            text = Text(cell, column.style) if isinstance(cell, str) else cell.copy()
            text.pad_right(width + 2 - text.cell_len)
            line.append_text(text)
        out.print(line, soft_wrap=True)
        for cell, column in zip(row[len(columns) :], long, strict=False):
            if str(cell):
                out.print(Padding(Text.assemble((f"{column.title} ", "dim"), cell), (0, 0, 0, 4)))


def _print_lines(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Print one line per row, of any length."""
    widths = [_width(column.title, rows, index) for index, column in enumerate(columns)]
    for row in ([column.title for column in columns], *rows):
        cells = (str(cell) + " " * (width - cell_len(str(cell))) for cell, width in zip(row, widths, strict=True))
        print_text("  ".join(cells).rstrip())


def _width(title: str, rows: Sequence[Row], index: int) -> int:
    return max(cell_len(title), *(cell_len(str(row[index])) for row in rows))
