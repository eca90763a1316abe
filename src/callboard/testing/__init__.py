"""What users need to test their own tools: a clock that moves only when told to, and a runtime around it."""

from .clock import ManualClock, settle
from .harness import Harness

__all__ = ["Harness", "ManualClock", "settle"]
