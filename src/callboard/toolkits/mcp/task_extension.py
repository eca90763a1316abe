"""The client side of the tasks extension: a call that the server carries out in the background.

The SDK has the hooks of extensions and no tasks. The call that started the task waits for its end, polls it, answers
what it asks, and cancels it when it is cancelled itself.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

import anyio
from mcp import Client, types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from callboard import ToolError

from .raw_request import InputRequests, send_raw

TASKS = "io.modelcontextprotocol/tasks"
SHORTEST_POLL, DEFAULT_POLL, LONGEST_POLL = 0.05, 1.0, 30.0
"""Seconds between two polls; the server proposes them."""
CANCEL_TIMEOUT = 5.0
"""Seconds that telling the server about a cancellation may take."""

Answer = Callable[[InputRequests], Awaitable[dict[str, Any]]]
"""Answers the requests of a task, with the JSON of responses by key."""
Sleep = Callable[[float], Awaitable[None]]


class CreatedTask(types.Result):
    """The result of a call that became a task."""

    model_config = ConfigDict(extra="allow")

    result_type: Literal["task"] = "task"
    task_id: str


class TaskExtension(ClientExtension):
    """Declares the extension to the server."""

    identifier = TASKS

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=_resolve)]


async def _resolve(task: CreatedTask, context: ClaimContext) -> types.CallToolResult:
    raise NotImplementedError  # calls read the raw result: see `follow_task`


class _Task(BaseModel):
    model_config = ConfigDict(extra="ignore")

    task_id: str = Field(alias="taskId", max_length=1_000)


class TaskState(_Task):
    """A task, as the server describes it."""

    status: str = "working"
    status_message: str | None = Field(default=None, alias="statusMessage")
    poll_interval: float | None = Field(default=None, alias="pollIntervalMs", allow_inf_nan=False)
    input_requests: InputRequests | None = Field(default=None, alias="inputRequests")
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    @property
    def delay(self) -> float:
        """Seconds until the next poll."""
        wanted = DEFAULT_POLL if self.poll_interval is None else self.poll_interval / 1_000
        return min(max(wanted, SHORTEST_POLL), LONGEST_POLL)


class _Params(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class _Request(types.Request[_Params, str]):
    name_param = "taskId"


async def follow_task(
    client: Client,
    created: Mapping[str, Any],
    *,
    answer: Answer,
    report: Callable[[str], Awaitable[None]],
    sleep: Sleep = anyio.sleep,
) -> dict[str, Any]:
    """Wait for the end of a task. Returns its result, which may be an error of the tool. Raises `ToolError`.

    A task that this call no longer waits for, for whatever reason, is cancelled.
    """
    task_id = _Task.model_validate(created).task_id
    try:
        state = await _last_state(client, task_id, created, answer, report, sleep)
    except BaseException:
        await _cancel(client, task_id)
        raise
    if state.status == "completed" and state.result is not None:
        return state.result
    raise _ended(state)


async def _last_state(
    client: Client,
    task_id: str,
    created: Mapping[str, Any],
    answer: Answer,
    report: Callable[[str], Awaitable[None]],
    sleep: Sleep,
) -> TaskState:
    """Poll a task until its end, and answer what it asks."""
    state = TaskState.model_validate(created)
    answered: set[str] = set()
    while True:
        if state.status_message:
            await report(state.status_message)
        if state.status in ("completed", "failed", "cancelled"):
            return state
        new = {key: each for key, each in (state.input_requests or {}).items() if key not in answered}
        if state.status == "input_required" and new:
            responses = await answer(new)
            answered |= new.keys()
            await _send(client, "update", task_id, responses)
        else:
            await sleep(state.delay)
        state = TaskState.model_validate(await _send(client, "get", task_id))


async def _cancel(client: Client, task_id: str) -> None:
    """Ask the server to cancel a task, unless the connection is lost."""
    with suppress(MCPError, ValidationError), anyio.CancelScope(shield=True), anyio.move_on_after(CANCEL_TIMEOUT):
        await _send(client, "cancel", task_id)


async def _send(client: Client, verb: str, task_id: str, responses: dict[str, Any] | None = None) -> dict[str, Any]:
    params = _Params(task_id=task_id, input_responses=responses)
    return await send_raw(client, _Request(method=f"tasks/{verb}", params=params))


def _ended(state: TaskState) -> ToolError:
    if state.status == "cancelled":
        return ToolError("The server cancelled the task.", category="cancelled")
    reason = str((state.error or {}).get("message", ""))[:500]
    return ToolError(f"The task failed on the server. {reason}".strip(), category="execution")
