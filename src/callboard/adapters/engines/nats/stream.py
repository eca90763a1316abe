"""The streams of a deployment: their configuration, and how existing ones may differ."""

from typing import Any

from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig

MAX_MESSAGES = 1_000_000
"""Messages of a stream. Further ones are refused, and the sweep sends them later."""
MAX_SIZE = 64 * 1024
"""Bytes of a message."""
WAKE_AGE = 3_600.0
"""Seconds for which a wake is kept, if no gateway with a model takes it."""


def stream_configs(name: str, replicas: int) -> tuple[StreamConfig, StreamConfig]:
    """Return the configurations of the streams of a deployment: of its queues, and of its wakes."""
    queues = StreamConfig(
        name=name,
        description="Executions of Callboard that wait for workers.",
        subjects=[f"{name}.queue.*"],
        retention=RetentionPolicy.WORK_QUEUE,
        storage=StorageType.FILE,
        num_replicas=replicas,
        max_msgs=MAX_MESSAGES,
        max_msg_size=MAX_SIZE,
        discard=DiscardPolicy.NEW,
    )
    wakes = StreamConfig(
        name=f"{name}-wake",
        description="Sessions of Callboard with late results, for gateways.",
        subjects=[f"{name}.wake"],
        retention=RetentionPolicy.WORK_QUEUE,
        storage=StorageType.FILE,
        num_replicas=replicas,
        max_age=WAKE_AGE,
        max_msgs=MAX_MESSAGES,
        max_msg_size=MAX_SIZE,
    )
    return queues, wakes


def differences(found: StreamConfig, wanted: StreamConfig) -> list[str]:
    """Return in what an existing stream differs from the one that Callboard needs."""
    return [
        f"its {name} is {getattr(found, name)!r} instead of {getattr(wanted, name)!r}"
        for name in ("subjects", "retention")
        if getattr(found, name) != getattr(wanted, name)
    ]


def outdated_limits(found: StreamConfig, wanted: StreamConfig) -> dict[str, Any]:
    """Return the limits that an existing stream should have instead of its own, which another version made."""
    limits = ("max_msgs", "max_msg_size", "max_age", "discard")
    return {
        name: getattr(wanted, name) for name in limits if (getattr(found, name) or 0) != (getattr(wanted, name) or 0)
    }
