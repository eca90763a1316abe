"""What happens in a call, as lines: words for a file or a log, or the events themselves for a program."""

import sys
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from ..events.event import Event
from ..events.kinds import EventKind
from .text import one_line, told


class Watcher(Protocol):
    """Shows a call while it runs, between `with` and its end."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def show(self, event: Event) -> None:
        """Take the next event of the board."""
        ...

    def say(self, message: str) -> None:
        """Tell the person something that is no event. May be called from any thread."""
        ...

    def abandon(self) -> None:
        """Leave the terminal as it was, at once: the process ends here. Called within a signal handler."""
        ...


class LineWatcher:
    """A plain line on standard error for every event: no colours, no control codes."""

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        """The call that all is about. How it ended is told by others."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def show(self, event: Event) -> None:
        if event.kind == EventKind.TOOL_RESULT and event.data["call_id"] == self._call_id:
            return
        if (line := told(event)) is not None:
            self.say(f"{event.data.get('tool', 'notice')}: {line}")

    def say(self, message: str) -> None:
        print(one_line(message), file=sys.stderr, flush=True)  # noqa: T201

    def abandon(self) -> None: ...


class JsonWatcher(LineWatcher):
    """Every event as it is, one line of JSON each, on the stream; all else is said on standard error."""

    def __init__(self, call_id: str, stream: BinaryIO) -> None:
        super().__init__(call_id)
        self._stream = stream

    def show(self, event: Event) -> None:
        self._stream.write(event.line + b"\n")
        self._stream.flush()
