"""The models of the response about the state of a user's work and of the process."""

from dataclasses import asdict
from datetime import datetime

from pydantic import Field

from ..turns import Usage
from .models import Number, Outgoing, UsageInfo


class UserOperations(Outgoing):
    """Your own work in this process."""

    sessions: Number = Field(description="Your sessions in memory")
    running: Number = Field(description="Calls that hold a slot")
    queued: Number = Field(description="Calls that wait for a slot")
    waiting: Number = Field(description="Calls that wait for a person")


class CallTotals(Outgoing):
    calls: Number = Field(description="Calls that ended")
    failures: dict[str, Number] = Field(description="By error category, without cancelled calls")
    cancellations: Number
    retries: Number


class TurnTotalsInfo(Outgoing):
    running: Number
    ended: dict[str, Number] = Field(description="Turns that ended or paused, by status")
    usage: UsageInfo


class StoreOperations(Outgoing):
    kind: str = Field(description="`memory`, `sqlite`, `postgresql`, or `other` for a store of another package")
    available: bool = Field(description="False while the store does not answer, is full, or keeps a write waiting")
    commits: Number
    commit_seconds: float = Field(description="The duration of all commits together")
    commit_failures: Number = Field(description="Failed transactions; most are retried")
    changes: dict[str, Number] = Field(description="Changes that were written, refused or lost")


class LimitInfo(Outgoing):
    calls: Number = Field(description="Concurrent calls")
    user_calls: Number
    session_calls: Number
    queued_calls: Number
    threads: Number = Field(description="Threads for sync handlers")


class ProcessOperations(Outgoing):
    """The work of all users in this process. Totals count from its start."""

    version: str
    python: str
    started_at: datetime
    sessions: Number = Field(description="Sessions in memory")
    readers: Number = Field(description="Open streams")
    executions: dict[str, Number] = Field(description="Unfinished executions by status")
    queued: Number = Field(description="Executions that wait for a slot")
    waiting: Number = Field(description="Executions that wait for a person")
    calls: CallTotals
    turns: TurnTotalsInfo
    store: StoreOperations
    limits: LimitInfo
    kept_bytes: Number = Field(description="Bytes of large values in memory")


class Operations(Outgoing):
    at: datetime = Field(description="The time of these numbers")
    is_operator: bool = Field(description="Whether you may see the numbers of the process")
    user: UserOperations
    process: ProcessOperations | None = Field(description="Null unless you are an operator")


def usage_info(usage: Usage) -> UsageInfo:
    """Return the API's form of a usage."""
    return UsageInfo.model_validate(asdict(usage))
