"""An engine over NATS JetStream."""

from .engine import NatsEngine

__all__ = ["NatsEngine"]
