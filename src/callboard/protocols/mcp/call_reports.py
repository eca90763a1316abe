"""Reports of a running call to its client: progress notifications and log messages.

Both are made from the events of the board, which hold only what people may see.
"""

from typing import Any, get_args

from mcp import types

from ...events.event import Event
from ...events.kinds import EventKind
from .connections import Context, is_modern

LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
"""All levels, from the least to the most severe."""
DEFAULT_LEVEL: types.LoggingLevel = "info"
"""The level of a client of the handshake era that has not set one."""
COMPLETE = 100.0
"""The total of progress that has a fraction."""

_LOGGED: dict[str, types.LoggingLevel] = {
    EventKind.TOOL_PARTIAL: "debug",
    EventKind.TOOL_PROGRESS: "info",
    EventKind.TOOL_RETRYING: "warning",
}


class CallReports:
    """Sends the progress of one call, and log messages from a level on."""

    def __init__(self, ctx: Context, level: types.LoggingLevel | None) -> None:
        self._ctx = ctx
        if is_modern(ctx):  # each request chooses its level, and gets no messages without one
            level = (ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
        self._levels = LEVELS[LEVELS.index(level) :] if level in LEVELS else ()
        self._progress = -1.0
        self._has_fraction = False

    async def send(self, event: Event) -> None:
        """Send a client the notifications for an event."""
        if event.kind == EventKind.TOOL_PROGRESS:
            await self._send_progress(event.data)
        level = _LOGGED.get(event.kind)
        if level is not None and level in self._levels:
            await self._send_log(level, event.data)

    async def _send_progress(self, data: dict[str, Any]) -> None:
        """Send progress, which must increase: as a percentage, or as a count of reports without a fraction."""
        fraction: float | None = data["fraction"]
        if fraction is None and self._has_fraction:
            return
        progress = self._progress + 1.0 if fraction is None else fraction * COMPLETE
        self._has_fraction = fraction is not None
        if progress > self._progress:
            self._progress = progress
            total = None if fraction is None else COMPLETE
            await self._ctx.session.report_progress(progress, total, data["message"] or data["stage"])

    async def _send_log(self, level: types.LoggingLevel, data: dict[str, Any]) -> None:
        shown = {name: value for name, value in data.items() if name not in ("tool", "mode", "call_id")}
        params = types.LoggingMessageNotificationParams(level=level, logger=data["tool"], data=shown)
        await self._ctx.session.send_notification(types.LoggingMessageNotification(params=params), self._ctx.request_id)
