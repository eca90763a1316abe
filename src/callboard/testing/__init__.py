"""Utilities for testing tools: a clock that you control, and a runtime that uses it."""

from .clock import ManualClock, settle
from .harness import Harness

__all__ = ["Harness", "ManualClock", "settle"]
