"""A line editor for a terminal whose screen is redrawn meanwhile.

Inside its `with` block, the terminal neither echoes keys nor buffers lines: the screen draws the line. Ctrl-C stays a
signal.
"""

import asyncio
import codecs
import os
import re
from collections.abc import Callable
from typing import Any, Self

from rich.text import Text

from ..process import CommandError

try:
    import termios
    import tty
except ImportError:  # on Windows
    termios = tty = None

_KEYS = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|.", re.DOTALL)
MAX_LINE = 20_000


class LineEditor:
    """The line that is being typed, and the history. It handles keys and knows no terminal."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self._history: list[str] = []
        self._history_offset = 0

    def set(self, text: str) -> None:
        """Replace the line."""
        self.text, self.cursor, self._history_offset = text, len(text), 0

    def press(self, key: str) -> str | None:
        """Handle a key. Returns the line if the key ends it."""
        if key in "\r\n":
            line = self.text
            if line.strip() and line not in self._history[-1:]:
                self._history.append(line)
            self.set("")
            return line
        if (edit := _EDITS.get(key)) is not None:
            edit(self)
        elif key.isprintable() and len(self.text) < MAX_LINE:
            self.text = self.text[: self.cursor] + key + self.text[self.cursor :]
            self.cursor += len(key)
        return None

    def move(self, steps: int) -> None:
        self.cursor = min(max(0, self.cursor + steps), len(self.text))

    def cut(self, start: int, end: int) -> None:
        self.text = self.text[: max(0, start)] + self.text[end:]
        self.cursor = max(0, start)

    def cut_word(self) -> None:
        self.cut(len(self.text[: self.cursor].rstrip().rpartition(" ")[0]), self.cursor)

    def recall(self, steps: int) -> None:
        offset = min(max(0, self._history_offset + steps), len(self._history))
        self.set(self._history[-offset] if offset else "")
        self._history_offset = offset


_EDITS: dict[str, Callable[[LineEditor], Any]] = {
    "\x7f": lambda line: line.cut(line.cursor - 1, line.cursor),
    "\x08": lambda line: line.cut(line.cursor - 1, line.cursor),
    "\x1b[3~": lambda line: line.cut(line.cursor, line.cursor + 1),
    "\x15": lambda line: line.cut(0, line.cursor),
    "\x0b": lambda line: line.cut(line.cursor, len(line.text)),
    "\x17": LineEditor.cut_word,
    "\x1b[D": lambda line: line.move(-1),
    "\x1b[C": lambda line: line.move(1),
    **dict.fromkeys(("\x01", "\x1b[H", "\x1bOH", "\x1b[1~"), lambda line: line.move(-len(line.text))),
    **dict.fromkeys(("\x05", "\x1b[F", "\x1bOF", "\x1b[4~"), lambda line: line.move(len(line.text))),
    **dict.fromkeys(("\x1b[A", "\x10"), lambda line: line.recall(1)),
    **dict.fromkeys(("\x1b[B", "\x0e"), lambda line: line.recall(-1)),
}
"""Control keys: deletion, movement, and the history."""


class Keyboard:
    """Reads lines from a terminal, one by one; None at the end of the input."""

    def __init__(self, descriptor: int, on_key: Callable[[], Any]) -> None:
        self.editor = LineEditor()
        self._descriptor = descriptor
        self._on_key = on_key
        """Called after each key."""
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._modes: list[Any] | None = None

    def __enter__(self) -> Self:
        if termios is None or tty is None:
            raise CommandError("The chat needs a Unix-like terminal. Without one, run the tour: --script")
        self._modes = termios.tcgetattr(self._descriptor)
        self.take()
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        self.restore()

    def take(self) -> None:
        """Have the terminal neither echo keys nor buffer lines."""
        if tty is not None:
            tty.setcbreak(self._descriptor)

    def end(self) -> None:
        """End the input, as Ctrl-D does."""
        self._lines.put_nowait(None)

    def restore(self) -> None:
        """Restore the terminal's modes."""
        if self._modes is not None and termios is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._modes)

    async def next(self) -> str | None:
        """Wait for the next line."""
        return await self._lines.get()

    def render(self, prompt: str) -> Text:
        """The prompt and the line, with the cursor in it."""
        text, cursor = self.editor.text, self.editor.cursor
        return Text.assemble(
            (prompt, "bold"), text[:cursor], (text[cursor : cursor + 1] or " ", "reverse"), text[cursor + 1 :]
        )

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 4096)
        except OSError:  # the terminal was closed
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._lines.put_nowait(None)
            return
        for key in _KEYS.findall(self._decoder.decode(data)):
            if key == "\x04" and not self.editor.text:
                self._lines.put_nowait(None)
            elif (line := self.editor.press(key)) is not None:
                self._lines.put_nowait(line)
        self._on_key()
