"""A session's tools for any Pydantic AI agent: `Agent(…, toolsets=[callboard.toolset(session)])`.

Calls take the one path of every call. A background tool answers with its acknowledgement; its result is read with
`task_result`, or taken with `session.take_results()`.
"""

from functools import lru_cache
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ..errors import ErrorCategory
from ..sessions.session import Session
from ..tools.definition import Tool

_ANYTHING = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""Arguments are validated once, where the call is carried out."""


class SessionToolset(AbstractToolset[Any]):
    """What a session sees."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def id(self) -> str:
        return f"callboard:{self._session.id}"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {
            tool.name: ToolsetTool(
                toolset=self, tool_def=tool_definition(tool), max_retries=2, args_validator=_ANYTHING
            )
            for tool in self._session.tools()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        outcome = await self._session.call(name, tool_args, call_id=ctx.tool_call_id)
        if outcome.error is None:
            return outcome.value
        message = outcome.error.message
        if outcome.error.category is ErrorCategory.VALIDATION:
            raise ModelRetry(message)
        raise ToolFailed(message)


def toolset(session: Session) -> SessionToolset:
    """A session's tools, for an agent of one's own."""
    return SessionToolset(session)


@lru_cache(maxsize=4096)
def tool_definition(tool: Tool) -> ToolDefinition:
    """A tool as Pydantic AI shows it to any model."""
    return ToolDefinition(name=tool.name, description=tool.prompt, parameters_json_schema=tool.input_schema)
