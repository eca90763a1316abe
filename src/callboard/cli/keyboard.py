"""A line that is typed while the rest of the screen changes: the terminal gives each key, and this makes lines of them.

Between `with` and its end the terminal neither shows keys nor waits for whole lines; whoever draws the screen draws
`line` too. Ctrl-C stays a signal.
"""

import asyncio
import codecs
import os
import re
from collections.abc import Callable
from typing import Any, Self

from rich.text import Text

from ..errors import CallboardError

try:
    import termios
    import tty
except ImportError:  # no terminal of this kind, as on Windows
    termios = tty = None

_KEYS = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|.", re.DOTALL)
MAX_LINE = 20_000


class TerminalMissing(CallboardError):
    """There is no terminal whose keys can be read one by one."""

    code = "terminal"


class Line:
    """A line under way, and those before it. Knows keys, and no terminal."""

    def __init__(self) -> None:
        self.text = ""
        self.place = 0
        self._before: list[str] = []
        self._back = 0

    def put(self, text: str) -> None:
        """Begin with a text that can be changed."""
        self.text, self.place, self._back = text, len(text), 0

    def press(self, key: str) -> str | None:
        """Take a key. Returns the line, where it ends one."""
        if key in "\r\n":
            done = self.text
            if done.strip() and done not in self._before[-1:]:
                self._before.append(done)
            self.put("")
            return done
        if (motion := _MOTIONS.get(key)) is not None:
            motion(self)
        elif key.isprintable() and len(self.text) < MAX_LINE:
            self.text = self.text[: self.place] + key + self.text[self.place :]
            self.place += len(key)
        return None

    def move(self, steps: int) -> None:
        self.place = min(max(0, self.place + steps), len(self.text))

    def cut(self, start: int, end: int) -> None:
        self.text = self.text[: max(0, start)] + self.text[end:]
        self.place = max(0, start)

    def cut_word(self) -> None:
        self.cut(len(self.text[: self.place].rstrip().rpartition(" ")[0]), self.place)

    def recall(self, steps: int) -> None:
        back = min(max(0, self._back + steps), len(self._before))
        self.put(self._before[-back] if back else "")
        self._back = back


_MOTIONS: dict[str, Callable[[Line], Any]] = {
    "\x7f": lambda line: line.cut(line.place - 1, line.place),
    "\x08": lambda line: line.cut(line.place - 1, line.place),
    "\x1b[3~": lambda line: line.cut(line.place, line.place + 1),
    "\x15": lambda line: line.cut(0, line.place),
    "\x0b": lambda line: line.cut(line.place, len(line.text)),
    "\x17": Line.cut_word,
    "\x1b[D": lambda line: line.move(-1),
    "\x1b[C": lambda line: line.move(1),
    **dict.fromkeys(("\x01", "\x1b[H", "\x1bOH", "\x1b[1~"), lambda line: line.move(-len(line.text))),
    **dict.fromkeys(("\x05", "\x1b[F", "\x1bOF", "\x1b[4~"), lambda line: line.move(len(line.text))),
    **dict.fromkeys(("\x1b[A", "\x10"), lambda line: line.recall(1)),
    **dict.fromkeys(("\x1b[B", "\x0e"), lambda line: line.recall(-1)),
}
"""Keys that are no letters: deleting, moving, lines before."""


class Keyboard:
    """Gives the lines that are typed, one by one; None when there are no more."""

    def __init__(self, descriptor: int, pressed: Callable[[], Any]) -> None:
        self.line = Line()
        self._descriptor = descriptor
        self._pressed = pressed
        """Called after each key."""
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._modes: list[Any] | None = None

    def __enter__(self) -> Self:
        if termios is None or tty is None:
            raise TerminalMissing("The chat needs a terminal of a Unix-like system. The tour runs anywhere: --script")
        self._modes = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor)
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        self.restore()

    def restore(self) -> None:
        """Leave the terminal as it was."""
        if self._modes is not None and termios is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._modes)

    async def next(self) -> str | None:
        """The next line."""
        return await self._lines.get()

    def shown(self, prompt: str) -> Text:
        """The line as it is drawn, with the cursor in it."""
        text, place = self.line.text, self.line.place
        return Text.assemble(
            (prompt, "bold"), text[:place], (text[place : place + 1] or " ", "reverse"), text[place + 1 :]
        )

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 4096)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._lines.put_nowait(None)
            return
        for key in _KEYS.findall(self._decoder.decode(data)):
            if key == "\x04" and not self.line.text:
                self._lines.put_nowait(None)
            elif (line := self.line.press(key)) is not None:
                self._lines.put_nowait(line)
        self._pressed()
