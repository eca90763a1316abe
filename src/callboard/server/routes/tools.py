"""The tools, their manifest, and their statistics in this process."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime

from ...errors import ToolError
from ...execution.breakers import BreakerStatus
from ...schemas.dialects import DIALECTS
from ...sessions.live_session import LiveSession
from ...sessions.session_tools import SessionTools
from ...tools.definition import Tool
from ...tools.manifest import entry, manifest
from ...tools.minute_series import MinuteRecord, merge_minutes
from ...tools.policies import BreakerPolicy, RetryPolicy
from ...tools.registry import Registry
from ...tools.schema_preparation import prepare_schemas
from ...tools.stats import Statistics
from ...tools.view import View
from ..endpoint import ApiCall, Nothing, endpoint
from ..problems import not_found
from ..tool_models import (
    BreakerInfo,
    BreakerPolicyInfo,
    Manifest,
    MinuteInfo,
    PoliciesInfo,
    RetryInfo,
    StatisticsInfo,
    StatisticsQuery,
    StatisticsSeries,
    ToolDetails,
    ToolList,
    ToolQuery,
    ToolsQuery,
)

PER_TOOL = 2e-4
"""Seconds between two responses, for each tool in the first: twice what it takes to write an entry."""
SLICE = 25
"""Tools whose statistics are added up without a pause, which takes a few milliseconds."""


async def list_tools(call: ApiCall[Nothing, ToolsQuery]) -> ToolList:
    """List the tools."""
    wanted = call.query
    names = {tool.name: tool for tool in await _visible(call) if tool.name > wanted.after}
    page = sorted(names)[: wanted.limit]
    flags = call.services.runtime.registry.settings.gates
    await call.services.pacer.enter(call.user_id, len(page) * PER_TOOL)
    await prepare_schemas(names[name] for name in page)
    tools = [entry(names[name], flags) for name in page]
    return ToolList(tools=tools, next=page[-1] if len(page) < len(names) else None)


async def get_manifest(call: ApiCall[Nothing, ToolsQuery]) -> Manifest:
    """Get the capability manifest."""
    tools = [*await _visible(call)]
    await call.services.pacer.enter(call.user_id, len(tools) * PER_TOOL)
    await prepare_schemas(tools)
    return Manifest.model_validate(manifest(tools, call.services.runtime.registry.settings.gates))


async def get_tool(call: ApiCall[Nothing, ToolQuery]) -> ToolDetails:
    """Get a tool: its entry, its schema in each dialect, policies, breakers and statistics."""
    runtime, session_id = call.services.runtime, call.query.session_id
    session = None if session_id is None else await call.services.find(session_id, call.user_id)
    tool = _find(runtime.registry, call.path["name"], session)
    is_shared = runtime.registry.get(tool.name) is tool  # else only the session has it
    return ToolDetails(
        tool=entry(tool, runtime.registry.settings.gates, DIALECTS),
        policies=_policies(tool, *runtime.manager.policies(tool)),
        breakers=[_breaker(each) for each in runtime.manager.breakers(tool, call.user_id, session_id)],
        statistics=_statistics(runtime.registry.stats(tool.name)) if is_shared else None,
    )


async def get_statistics(call: ApiCall[Nothing, StatisticsQuery]) -> StatisticsSeries:
    """Get the calls of the last hour by minute, of one tool or of all."""
    registry, clock, name = call.services.runtime.registry, call.services.runtime.clock, call.query.tool
    tools = registry.snapshot().tools if name is None else (_find(registry, name),)
    now = clock.monotonic()
    minutes: list[MinuteRecord] = []
    for start in range(0, len(tools), SLICE):
        some = tools[start : start + SLICE]
        minutes = merge_minutes([minutes, *(registry.counters_of(tool).minutes(now) for tool in some)])
        await asyncio.sleep(0)
    offset = clock.time() - now
    return StatisticsSeries(tool=name, minutes=[_minute(each, offset) for each in minutes])


async def _visible(call: ApiCall[Nothing, ToolsQuery]) -> Iterable[Tool]:
    """Return the tools that a session sees, or those of a session with defaults."""
    if call.query.session_id is None:
        return call.services.runtime.registry.snapshot()
    return (await call.services.find(call.query.session_id, call.user_id)).tools()


def _find(registry: Registry, name: str, session: LiveSession | None = None) -> Tool:
    """Return a tool that a session may call, or one with defaults. Raises `Problem` (404).

    Unlike in lists, a tool is also found while its open breaker hides it.
    """
    try:
        return (SessionTools(registry, View()) if session is None else session).find(name)
    except ToolError:
        raise not_found("tool") from None


def _breaker(status: BreakerStatus) -> BreakerInfo:
    return BreakerInfo(
        scope=status.scope, target=status.target, state=status.state.value, refused_for=round(status.refused_for, 3)
    )


def _policies(tool: Tool, retry: RetryPolicy, breaker: BreakerPolicy) -> PoliciesInfo:
    return PoliciesInfo(
        timeout=tool.timeout,
        total_timeout=tool.total_timeout,
        inline_budget=tool.inline_budget,
        concurrency=tool.concurrency,
        expires=tool.expires,
        retry=RetryInfo(
            max_attempts=retry.max_attempts,
            strategy=str(retry.strategy),
            base_delay=retry.base_delay,
            max_delay=retry.max_delay,
            multiplier=retry.multiplier,
            retry_on=sorted(str(each) for each in retry.retry_on),
        ),
        breaker=BreakerPolicyInfo(
            scope=str(breaker.scope),
            failure_threshold=breaker.failure_threshold,
            recovery_time=breaker.recovery_time,
            success_threshold=breaker.success_threshold,
            hide_when_open=breaker.hide_when_open,
        ),
    )


def _statistics(read: Statistics) -> StatisticsInfo:
    return StatisticsInfo.model_validate(read._asdict())


def _minute(record: MinuteRecord, offset: float) -> MinuteInfo:
    return MinuteInfo(
        start=datetime.fromtimestamp(record.start + offset, UTC),
        calls=record.calls,
        failures=dict(record.failures),
        cancellations=record.cancellations,
        p50=record.percentile(0.5),
        p95=record.percentile(0.95),
        p99=record.percentile(0.99),
    )


ENDPOINTS = [
    endpoint("GET", "/api/tools", list_tools, problems=(404,)),
    endpoint("GET", "/api/tools/{name}", get_tool, problems=(404,), expensive=True),
    endpoint("GET", "/api/statistics", get_statistics, problems=(404,), expensive=True),
    endpoint("GET", "/api/manifest", get_manifest, problems=(404,)),
]
