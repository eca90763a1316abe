"""The state of the process for operators, and of a user's own work for everyone."""

import platform
from collections import Counter
from datetime import UTC, datetime

from ... import __version__
from ...execution.lifecycle import Status
from ...runtime import Runtime
from ..app_services import AppServices
from ..endpoint import ApiCall, Nothing, endpoint, is_operator
from ..operations_models import (
    CallTotals,
    LimitInfo,
    Operations,
    ProcessOperations,
    StoreOperations,
    TurnTotalsInfo,
    UserOperations,
    usage_info,
)

OPEN = tuple(status for status in Status if not status.terminal)


async def get_operations(call: ApiCall[Nothing, Nothing]) -> Operations:
    """Get the state of your work, and for operators of the whole process."""
    runtime = call.services.runtime
    allowed = is_operator(call.request.scope)
    return Operations(
        at=datetime.fromtimestamp(runtime.clock.time(), UTC),
        is_operator=allowed,
        user=_of_user(runtime, call.user_id),
        process=process_state(call.services) if allowed else None,
    )


def _of_user(runtime: Runtime, user_id: str) -> UserOperations:
    found = runtime.sessions.usage_of(user_id)
    return UserOperations(
        sessions=len(found.sessions), running=found.running, queued=found.queued, waiting=found.requests
    )


def process_state(services: AppServices) -> ProcessOperations:
    """Return the numbers of the process."""
    runtime, turns = services.runtime, services.turns
    live = runtime.manager.live
    by_status = Counter(execution.status for execution in live)
    return ProcessOperations(
        version=__version__,
        python=platform.python_version(),
        started_at=datetime.fromtimestamp(services.started_at, UTC),
        sessions=len(runtime.sessions),
        readers=len(services.streams),
        executions={status.value: by_status[status] for status in OPEN},
        queued=runtime.manager.queued,
        waiting=sum(each.request is not None and each.status is Status.WAITING for each in live),
        calls=_calls(runtime),
        turns=TurnTotalsInfo(running=turns.running, ended=dict(turns.ended), usage=usage_info(turns.usage)),
        store=_store(runtime),
        limits=_limits(runtime),
        kept_bytes=runtime.sessions.budget.kept,
    )


def _calls(runtime: Runtime) -> CallTotals:
    """Add up the counters of all tools."""
    calls = cancellations = retries = 0
    failures: Counter[str] = Counter()
    for name in runtime.registry.names():
        counters = runtime.registry.counters(name)
        calls += counters.calls
        failures += counters.failures
        cancellations += counters.cancellations
        retries += counters.retries
    return CallTotals(calls=calls, failures=dict(failures), cancellations=cancellations, retries=retries)


def _store(runtime: Runtime) -> StoreOperations:
    writer = runtime.sessions.writer
    return StoreOperations(
        kind=runtime.store_kind,
        available=writer.available,
        commits=writer.commits,
        commit_seconds=writer.commit_time,
        commit_failures=writer.failures,
        changes={"written": writer.written, "refused": writer.refused, "lost": writer.lost},
    )


def _limits(runtime: Runtime) -> LimitInfo:
    limits = runtime.manager.limits
    return LimitInfo(
        calls=limits.total,
        user_calls=limits.per_user,
        session_calls=limits.per_session,
        queued_calls=limits.queue,
        threads=limits.threads,
    )


ENDPOINTS = [endpoint("GET", "/api/operations", get_operations)]
