"""Log formats for operators: one line per record, as JSON or as text, with secrets masked.

Logged text cannot start a new line or control a terminal, also if it comes from a model, a page or another server.
"""

import json
import logging
import sys
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TextIO

from ..shortening import shorten
from .log_context import LogContext, log_context
from .masking import Masker

MAX_MESSAGE = 10_000
"""Characters of a message; the rest is cut off."""
MAX_TRACE = 50_000
"""Characters of a traceback; the rest is cut off."""

_REQUESTS = logging.getLogger("httpx2")
"""The logger of the HTTP client, which logs the URL of each request."""
_STANDARD = frozenset(
    {*logging.LogRecord("", 0, "", 0, "", None, None).__dict__, "message", "asctime", "taskName", "color_message"}
)
_OWN = frozenset({"session_id", "execution_id", "tool"})


class MaskedRecord:
    """The content of a log record, with secrets masked and long texts cut."""

    __slots__ = ("error", "extra", "level", "log_context", "logger", "message", "time", "trace")

    def __init__(self, record: logging.LogRecord, masker: Masker) -> None:
        self.time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        self.level = record.levelname
        self.logger = record.name
        self.message = shorten(masker.text(_message(record)), MAX_MESSAGE)
        fields, here = record.__dict__, log_context()
        self.log_context = LogContext(
            *(
                None if value is None else shorten(masker.text(str(value)), 200)
                for value in (
                    fields.get("session_id", here.session),
                    fields.get("execution_id", here.execution),
                    fields.get("tool", here.tool),
                )
            )
        )
        self.extra: dict[str, Any] = masker.data(
            {name: value for name, value in fields.items() if name not in _STANDARD and name not in _OWN}
        )
        kind, error = record.exc_info[:2] if record.exc_info else (None, None)
        self.error = None if kind is None else kind.__name__
        trace = (record.exc_text or "") if error is None else "".join(traceback.format_exception(error))
        self.trace = shorten(masker.text(trace), MAX_TRACE)


class JsonFormatter(logging.Formatter):
    """Formats a record as a line of JSON: time, level, logger, message, log context, and extra fields.

    The line is ASCII, so it contains no Unicode line breaks.
    """

    def __init__(self, masker: Masker) -> None:
        super().__init__()
        self._masker = masker

    def format(self, record: logging.LogRecord) -> str:
        seen = MaskedRecord(record, self._masker)
        line: dict[str, Any] = {
            "time": seen.time,
            "level": seen.level,
            "logger": seen.logger,
            "message": seen.message,
            **{name: value for name, value in seen.log_context._asdict().items() if value is not None},
        }
        if seen.error is not None:
            line["error"] = seen.error
        if seen.trace:
            line["trace"] = seen.trace.splitlines()
        if seen.extra:
            line["extra"] = seen.extra
        return json.dumps(line, ensure_ascii=True)


class PlainFormatter(logging.Formatter):
    """Formats a record as a line of text. A traceback follows in lines that start with a bar, unlike any record."""

    def __init__(self, masker: Masker) -> None:
        super().__init__()
        self._masker = masker

    def format(self, record: logging.LogRecord) -> str:
        seen = MaskedRecord(record, self._masker)
        about = " ".join(value for value in seen.log_context if value is not None)
        head = f"{seen.time} {seen.level:<8} {seen.logger}: {seen.message}" + (f" [{about}]" if about else "")
        trace = [f"    | {_printable(line)}" for line in seen.trace.splitlines()]
        return "\n".join([_printable(head), *trace])


def configure(
    *,
    json: bool = False,
    level: int | str = logging.INFO,
    secrets: Iterable[str] = (),
    stream: TextIO | None = None,
) -> logging.Handler:
    """Configure the root logger to write one format, to stderr by default.

    `secrets` are values to mask, beside the environment's variables with secret names. It replaces the handler of an
    earlier call, and keeps all others. The lines of HTTP clients about their requests appear from the level DEBUG on,
    because URLs can contain secrets. Raises `ValueError` for an unknown level.
    """
    masker = Masker.of_environment(*secrets)
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(masker) if json else PlainFormatter(masker))
    root = logging.getLogger()
    root.setLevel(level.upper() if isinstance(level, str) else level)
    _REQUESTS.setLevel(logging.WARNING if root.level > logging.DEBUG else logging.NOTSET)
    for other in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(other)
    root.addHandler(handler)
    return handler


class _Handler(logging.StreamHandler[TextIO]):
    """The handler of `configure`, which replaces it by its class. Errors of the stream are ignored."""

    def handleError(self, record: logging.LogRecord) -> None:
        pass


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # the arguments do not match the format string
        return f"{record.msg!r} (its arguments do not match)"


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
