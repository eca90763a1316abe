"""A session's tools for any Pydantic AI agent: `Agent(…, toolsets=[callboard.toolset(session)])`.

Calls take the same path as all others. A background tool answers with an acknowledgement, and its result comes later:
wait for it with `until_results`, and put it into the agent's message history with `late_results`.
"""

import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessage
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ..errors import ErrorCategory, SchemaError
from ..events.board import CursorExpired
from ..events.kinds import EventKind
from ..sessions.session import Session, live_session
from ..sessions.task_tools import task_tools
from ..tools.definition import Tool
from ..tools.schema_preparation import prepare_schemas
from ..types import Mode, Wake
from .deferred import DeferredCalls, is_deferrable
from .late_results import check_complete, delivered_executions, room_for, with_late_results
from .rendering import TASK_RESULT
from .returned_values import returned_value
from .transcript import LateResult
from .wellformed import ANTHROPIC

log = logging.getLogger("callboard.chat")

_ANYTHING = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""Arguments are validated once, when the call runs."""


class SessionToolset(AbstractToolset[Any]):
    """The tools of a session, with the retries that the agent allows."""

    def __init__(self, session: Session, *, defer: bool = False) -> None:
        self._session = session
        self._live = live_session(session)
        self._deferred = DeferredCalls(session)
        self._defer = defer

    @property
    def id(self) -> str:
        return f"callboard:{self._session.id}"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        await self._live.refresh()
        if self._defer and self._session.has_pending_work:
            await self._deferred.close_answered(ctx.messages)
        tools = self._session.tools()
        await prepare_schemas(tools)
        return {
            definition.name: ToolsetTool(
                toolset=self, tool_def=definition, max_retries=ctx.max_retries, args_validator=_ANYTHING
            )
            for definition in tool_definitions(tools, ctx.model.system)
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        known = self._session.tools().get(name) if self._defer else None
        if known is not None and is_deferrable(known):
            outcome = await self._deferred.call(known, tool_args, ctx)
        else:
            outcome = await self._session.call(name, tool_args, call_id=call_id_of(ctx))
        if outcome.error is None:
            return returned_value(self._live, outcome)
        message = outcome.error.message
        if outcome.error.category is ErrorCategory.VALIDATION:
            raise ModelRetry(message)
        raise ToolFailed(message)

    # Late results

    async def until_results(self) -> bool:
        """Wait until late results should be given to the model. False if no running call can produce one.

        Results of tools with `wake="wait"` and `wake="ui_only"` are not waited for.
        """
        while True:
            after = self._session.board.last_seq
            unfinished = await self._session.history(unfinished=True)
            outcomes = await self._live.results.outcomes(await self._live.results.waiting())
            if any(self._live.wakes(each.tool) is Wake.WAKE for each in outcomes):
                return True
            if not any(self._live.wakes(each.tool) is Wake.WAKE for each in unfinished):
                return False
            await self._until_call_ends(after)

    async def _until_call_ends(self, after: int) -> None:
        try:
            async with aclosing(self._session.events(after)) as events:
                async for event in events:
                    if event.kind == EventKind.TOOL_RESULT:
                        return
        except CursorExpired:  # many events came since
            return

    @asynccontextmanager
    async def late_results(self, history: Sequence[ModelMessage]) -> AsyncGenerator[list[ModelMessage]]:
        """Enter with the message history of your agent, and get it with the late results, valid for every provider.

        Run the agent with it and store the new history inside the block: the results count as delivered when the block
        ends without an error. Until then they stay in the session, also if this process dies. Results that the history
        has already are not added again. Raises `CallboardError` if the history ends with calls without results.
        """
        check_complete(history)
        delivered, added = delivered_executions(history), list[LateResult]()
        waiting = await self._live.results.waiting()
        silent = delivered & set(waiting)
        for outcome in await self._live.results.outcomes(waiting):
            if self._live.wakes(outcome.tool) is Wake.UI_ONLY:
                silent.add(outcome.execution_id)
            elif outcome.execution_id not in silent and len(added) < room_for(history):
                content = self._live.render_for_model(outcome)
                added.append(LateResult(outcome.execution_id, content, outcome.error is not None))
        yield with_late_results(history, added)
        await self._live.results.consume((*silent, *(each.execution_id for each in added)))

    # Requests to people

    async def deferred_results(self, requests: DeferredToolRequests) -> DeferredToolResults:
        """Wait until people have answered the deferred calls of this session, such as on its page.

        Pass the results to the next run. Calls of other toolsets are left out.
        """
        return await self._deferred.results(requests)


def toolset(session: Session, *, defer: bool = False) -> SessionToolset:
    """The tools of a session, including the `task_…` tools, for your own agent.

    With `defer`, calls that ask a person are deferred calls of the run: approvals and questions end it with
    `DeferredToolRequests`. Without it, they are acknowledged like background calls, and their results come late.
    """
    if session.tools().get(TASK_RESULT) is None:  # the runtime has no model of its own
        live_session(session).add_tools_for_sessions(task_tools)
    return SessionToolset(session, defer=defer)


def call_id_of(ctx: RunContext[Any]) -> str | None:
    """The id of a call in its session, unique for each call of a run.

    Models reuse their ids in other runs, and sometimes in other steps of one run. A call that the framework repeats
    within its step, such as after a lost activity, keeps its id and runs once.
    """
    if ctx.tool_call_id is None or ctx.run_id is None:
        return None
    named = "\n".join((ctx.run_id, str(ctx.run_step), ctx.tool_call_id))
    return f"run_{sha256(named.encode(errors='surrogatepass')).hexdigest()[:32]}"


def tool_definitions(tools: Iterable[Tool], system: str) -> list[ToolDefinition]:
    """Return the Pydantic AI definitions of tools for a model, without those that make its provider refuse a request.

    `system` is the model's name of its provider; that of a fallback model names several.
    """
    is_anthropic = ANTHROPIC in system
    return [_definition(tool) for tool in tools if not is_anthropic or _is_accepted(tool)]


def _definition(tool: Tool) -> ToolDefinition:
    """The definition of a tool. Tools that are not inline answer with an acknowledgement."""
    if (definition := _definitions.get(tool)) is None:
        returns = tool.output_schema if tool.mode is Mode.INLINE else None
        definition = _definitions[tool] = ToolDefinition(
            name=tool.name,
            description=tool.prompt,
            parameters_json_schema=tool.shared_schema("openai")["function"]["parameters"],
            return_schema=returns,
            include_return_schema=None if returns else False,  # the agent decides, where there is one
        )
    return definition


def _is_accepted(tool: Tool) -> bool:
    """Return whether Anthropic accepts the schema of a tool. A tool that it does not accept is logged once."""
    if tool in _refused:
        return False
    try:
        tool.shared_schema("claude")
    except SchemaError as error:
        _refused.add(tool)
        log.warning("the tool %s is not offered to the model: %s", tool.name, error)
        return False
    return True


_definitions: WeakKeyDictionary[Tool, ToolDefinition] = WeakKeyDictionary()
"""Weak, since the handler of a tool may hold a whole runtime."""
_refused: WeakSet[Tool] = WeakSet()
"""The tools that Anthropic does not accept."""
