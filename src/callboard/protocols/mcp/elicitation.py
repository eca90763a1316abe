"""Asks handshake clients for answers, while their calls wait."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from ...background_tasks import BackgroundTasks
from ...sessions.answers import AnswerInvalid
from ...sessions.session import Session, live_session
from ...storage.errors import StoreUnavailable
from .client_inputs import ELICIT, LIST_ROOTS, SAMPLE, ClientInput, Reply, deliver_answer, problem_text
from .connections import Context

ATTEMPTS = 3
"""The number of times that a user is asked, if the answers are not valid."""

RETRY_DELAY = 1.0
"""Seconds until an answer is delivered again, while the store is away. Its user is not asked again."""


_MODELS: dict[str, tuple[Any, type[types.Result]]] = {
    ELICIT: (types.ElicitRequest, types.ElicitResult),
    SAMPLE: (types.CreateMessageRequest, types.CreateMessageResult),
    LIST_ROOTS: (types.ListRootsRequest, types.ListRootsResult),
}
"""The types of requests to a client and of its results."""


class Elicitations:
    """The questions of one call. Each is asked in a task of its own, which `close` ends."""

    def __init__(self, ctx: Context, session: Session, changed: Callable[[object], Any]) -> None:
        self._ctx = ctx
        self._session = session
        self._changed = changed
        """Called when a question has ended."""
        self._tasks = BackgroundTasks()
        self._asking: dict[str, asyncio.Task[None]] = {}
        """The tasks of the questions, by request."""
        self.dismissed: set[str] = set()
        """The requests that the user did not decide."""

    @property
    def has_asked(self) -> bool:
        """Whether there was a question."""
        return bool(self._asking)

    def ask(self, question: ClientInput) -> None:
        """Ask a question, unless it was asked already."""
        request_id = question.request.id
        if request_id not in self._asking:
            task = self._asking[request_id] = self._tasks.run(self._ask(question))
            task.add_done_callback(self._changed)

    def keep(self, request_ids: set[str]) -> None:
        """End the questions whose requests were answered elsewhere: all but these."""
        for request_id, task in self._asking.items():
            if request_id not in request_ids:
                task.cancel()

    async def close(self) -> None:
        """End all questions."""
        await self._tasks.close()

    async def _ask(self, question: ClientInput) -> None:
        is_answered = False
        try:
            is_answered = await self._is_answered(question)
        finally:
            if not is_answered:  # also after an unexpected error: the call no longer waits for this client
                self.dismissed.add(question.request.id)

    async def _is_answered(self, question: ClientInput) -> bool:
        problem: str | None = None
        make, answer = _MODELS[question.method]
        related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        for _ in range(ATTEMPTS):
            try:
                request = make.model_validate(question.to_wire(problem))
                result = await self._ctx.session.send_request(request, answer, metadata=related)
                dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
                return await self._deliver(question, dumped) is Reply.ANSWERED
            except AnswerInvalid as error:
                problem = problem_text(error)
            except (MCPError, ValidationError):  # the client cannot answer after all
                break
        return False

    async def _deliver(self, question: ClientInput, result: Mapping[str, Any]) -> Reply:
        """Deliver an answer, as often as it takes until the store answers."""
        while True:
            try:
                return await deliver_answer(self._session, question, result)
            except StoreUnavailable:
                await live_session(self._session).services.clock.sleep(RETRY_DELAY)
