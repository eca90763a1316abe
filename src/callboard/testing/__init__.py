"""Utilities for testing tools: a manual clock, a runtime around it, and (`store_contract`) the test suite of stores."""

from .clock import ManualClock, settle
from .harness import Harness

__all__ = ["Harness", "ManualClock", "settle"]
