"""The client side of the tasks extension, on the SDK's client."""

from typing import Any, Literal

from mcp import Client, types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import ConfigDict, Field

from callboard.protocols.mcp.connections import TASKS


class Task(types.Result):
    """A task, and its result once it has ended."""

    model_config = ConfigDict(extra="allow")

    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class TaskExtension(ClientExtension):
    """Declares the extension. Calls that become tasks are returned as tasks: see `call_task`."""

    identifier = TASKS

    def claims(self) -> Any:
        async def resolve(task: Task, ctx: ClaimContext) -> types.CallToolResult:
            raise AssertionError

        return [ResultClaim(result_type="task", model=Task, resolve=resolve)]


class _Params(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = Field(default=None)


class _Request(types.Request[_Params, str]):
    name_param = "taskId"


class State(types.Result):
    """The response to a request about a task."""

    model_config = ConfigDict(extra="allow")

    task_id: str = ""
    status: str = ""
    ttl_ms: int | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    input_requests: dict[str, Any] | None = None
    status_message: str | None = None


async def call_task(client: Client, name: str, arguments: dict[str, Any]) -> Any:
    """Call a tool; the result is a `Task` if the call became one."""
    return await client.session.call_tool(name, arguments, allow_claimed=True, allow_input_required=True)


async def request_task(client: Client, method: str, task_id: str, responses: dict[str, Any] | None = None) -> State:
    """Send a request about a task."""
    params = _Params(task_id=task_id, input_responses=responses)
    return await client.session.send_request(_Request(method=f"tasks/{method}", params=params), State)
