"""What users need to test their own tools: a clock that moves only when told to."""

from .clock import ManualClock

__all__ = ["ManualClock"]
