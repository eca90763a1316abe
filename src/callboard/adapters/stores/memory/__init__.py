"""A store in memory."""

from .store import MemoryStore

__all__ = ["MemoryStore"]
