"""Conversations with a model: transcript, turns and late results."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from pydantic_ai.settings import ModelSettings

from ..background_tasks import BackgroundTasks
from ..sessions.conversation_scope import ConversationScope
from ..sessions.session_manager import SessionManager
from ..sessions.task_tools import task_tools
from ..storage.errors import StoreError, StoreUnavailable
from ..tools.registry import Registry
from ..turns import Turn, TurnLimits
from .config import ConversationConfig
from .conversation import Conversation
from .model import choose_model

log = logging.getLogger("callboard.chat")


class Conversations:
    """Creates the conversation of each session, and owns the tasks of all turns.

    It registers the built-in tools for background work.
    """

    def __init__(
        self,
        registry: Registry,
        sessions: SessionManager,
        model: Any,
        *,
        instructions: str | None,
        limits: TurnLimits | None,
        settings: ModelSettings | None,
        cancel_on_interrupt: bool,
    ) -> None:
        self._config = ConversationConfig(
            model=choose_model(model),
            instructions=instructions,
            limits=limits or TurnLimits(),
            settings=settings,
            cancel_on_interrupt=cancel_on_interrupt,
        )
        self._tasks = BackgroundTasks()
        self._leaving = False
        self._store_is_away = False
        """Whether turns wait for a store that does not answer."""
        for tool in task_tools(sessions.find):
            registry.register(tool, replace=True)

    def __call__(self, scope: ConversationScope) -> Conversation:
        """Create the conversation of a session, which keeps it."""
        return Conversation(scope, self._config, self._spawn, lambda: self._leaving)

    async def close(self) -> None:
        """Stop all turns. Stored turns stay as they are, and another process resumes them."""
        self._leaving = True
        await self._tasks.close()

    def _spawn(self, work: Coroutine[Any, Any, Turn | None]) -> "asyncio.Task[Turn | None]":
        task = self._tasks.start(work)
        task.add_done_callback(self._log_error)
        return task

    def _log_error(self, task: "asyncio.Task[Any]") -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is None or isinstance(error, StoreUnavailable):
            self._log_availability(error)
        elif isinstance(error, StoreError):
            log.warning("a turn stopped: %s", error)
        else:
            log.error("the runtime failed in a conversation", exc_info=error)

    def _log_availability(self, error: StoreUnavailable | None) -> None:
        """Log once that the store does not answer, and once that it does again."""
        if error is not None and not self._store_is_away:
            log.warning("turns wait until the store answers again: %s", error)
        elif error is None and self._store_is_away:
            log.warning("the store answers again; turns continue")
        self._store_is_away = error is not None
