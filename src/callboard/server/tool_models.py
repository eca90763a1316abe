"""The models of requests and responses about tools."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from .models import MAX_LIST, Id, Incoming, Limit, Number, Outgoing

ToolName = Annotated[str, Field(min_length=1, max_length=200)]


class ToolsQuery(Incoming):
    session_id: Id | None = Field(default=None, description="Only tools of this session")
    after: str = Field(default="", max_length=200, description="Only tools after this name")
    limit: Limit = MAX_LIST


class ToolList(Outgoing):
    tools: list[dict[str, Any]] = Field(description="Entries of the manifest, sorted by name")
    next: str | None


class Manifest(Outgoing):
    model_config = ConfigDict(extra="allow")

    version: int
    tools: list[dict[str, Any]]


class ToolQuery(Incoming):
    session_id: Id | None = Field(default=None, description="The tool as this session sees it")


class BreakerInfo(Outgoing):
    scope: Literal["tool", "user", "session"] = Field(description="Whose calls it counts: all, yours, the session's")
    target: str | None = Field(description="The target of your calls that it counts; null for all")
    state: Literal["closed", "open", "half_open"]
    refused_for: float = Field(description="Seconds until a call is let through; 0 if one may be now")


class RetryInfo(Outgoing):
    max_attempts: Number
    strategy: str = Field(description="How the delay grows with each attempt")
    base_delay: float = Field(description="Delays are in seconds")
    max_delay: float
    multiplier: float
    retry_on: list[str] = Field(description="The error categories after which a call is tried again")


class BreakerPolicyInfo(Outgoing):
    scope: str = Field(description="The calls that share a breaker")
    failure_threshold: Number = Field(description="Failures in a row that open it")
    recovery_time: float = Field(description="Seconds until it lets probes through")
    success_threshold: Number = Field(description="Successful probes that close it")
    hide_when_open: bool


class PoliciesInfo(Outgoing):
    timeout: float | None = Field(description="Seconds that one attempt may take; null for no limit")
    total_timeout: float | None = Field(description="Seconds that a call may take with all its attempts")
    inline_budget: float = Field(description="Seconds after which the result of an inline call comes later")
    concurrency: Number | None = Field(description="Calls of the tool that may run at once; null for no limit")
    expires: float | None = Field(description="Seconds after which a request to a person expires")
    retry: RetryInfo
    breaker: BreakerPolicyInfo


class StatisticsInfo(Outgoing):
    calls: Number
    successes: Number
    failures: dict[str, Number] = Field(description="By error category, without cancelled calls")
    cancellations: Number
    retries: Number
    total_time: float = Field(description="Times are in seconds")
    average_time: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    success_rate: float | None = Field(description="The share of successes among calls that were not cancelled")
    last_error_at: datetime | None
    breaker: str = Field(description="The state of the tool's own breaker")


class ToolDetails(Outgoing):
    tool: dict[str, Any] = Field(
        description="The entry of the manifest, with `schemas` by dialect: one that refuses it has `error` and `path`"
    )
    policies: PoliciesInfo = Field(description="Those that its calls follow: its own, or those of the server")
    breakers: list[BreakerInfo] = Field(description="Those with failures to remember that concern you")
    statistics: StatisticsInfo | None = Field(description="Of this process; null for a tool of the session alone")


class StatisticsQuery(Incoming):
    tool: ToolName | None = Field(default=None, description="Only of this tool; the sum of all by default")


class MinuteInfo(Outgoing):
    start: datetime
    calls: Number = Field(description="The number of calls that ended")
    failures: dict[str, Number] = Field(description="By error category, without cancelled calls")
    cancellations: Number
    p50: float | None = Field(description="Seconds, exact to a factor of 1.5")
    p95: float | None
    p99: float | None


class StatisticsSeries(Outgoing):
    tool: str | None
    minutes: list[MinuteInfo] = Field(description="The last hour in this process, oldest first, without idle minutes")
