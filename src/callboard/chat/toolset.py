"""A session's tools for any Pydantic AI agent: `Agent(…, toolsets=[callboard.toolset(session)])`.

Calls take the same path as all others. A background tool answers with an acknowledgement; read its result with
`task_result`, or take it with `session.take_results()`.
"""

from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ..errors import ErrorCategory
from ..sessions.session import Session, live_session
from ..tools.definition import Tool
from ..types import Mode
from .rendering import TASK_RESULT
from .tasks import task_tools

_ANYTHING = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""Arguments are validated once, when the call runs."""


class SessionToolset(AbstractToolset[Any]):
    """The tools of a session, with the retries that the agent allows."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def id(self) -> str:
        return f"callboard:{self._session.id}"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {
            tool.name: ToolsetTool(
                toolset=self, tool_def=tool_definition(tool), max_retries=ctx.max_retries, args_validator=_ANYTHING
            )
            for tool in self._session.tools()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        outcome = await self._session.call(name, tool_args, call_id=call_id_of(ctx))
        if outcome.error is None:
            return outcome.value
        message = outcome.error.message
        if outcome.error.category is ErrorCategory.VALIDATION:
            raise ModelRetry(message)
        raise ToolFailed(message)


def toolset(session: Session) -> SessionToolset:
    """The tools of a session, including the `task_…` tools, for your own agent."""
    if session.tools().get(TASK_RESULT) is None:  # the runtime has no model of its own
        live_session(session).add_tools_for_sessions(task_tools)
    return SessionToolset(session)


def call_id_of(ctx: RunContext[Any]) -> str | None:
    """The id of a call in its session, unique for each call of a run.

    Models reuse their ids in other runs, and sometimes in other steps of one run. A call that the framework repeats
    within its step, such as after a lost activity, keeps its id and runs once.
    """
    if ctx.tool_call_id is None or ctx.run_id is None:
        return None
    named = "\n".join((ctx.run_id, str(ctx.run_step), ctx.tool_call_id))
    return f"run_{sha256(named.encode(errors='surrogatepass')).hexdigest()[:32]}"


def tool_definition(tool: Tool) -> ToolDefinition:
    """The Pydantic AI definition of a tool. Tools that are not inline answer with an acknowledgement."""
    if (definition := _definitions.get(tool)) is None:
        returns = tool.output_schema if tool.mode is Mode.INLINE else None
        definition = _definitions[tool] = ToolDefinition(
            name=tool.name,
            description=tool.prompt,
            parameters_json_schema=tool.input_schema,
            return_schema=returns,
            include_return_schema=None if returns else False,  # the agent decides, where there is one
        )
    return definition


_definitions: WeakKeyDictionary[Tool, ToolDefinition] = WeakKeyDictionary()
"""Weak, since the handler of a tool may hold a whole runtime."""
