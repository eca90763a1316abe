"""Engines between the runtimes of one process, and over NATS. The address chooses the engine; no other is loaded."""

from ...errors import MissingExtraError
from ...execution.engine import Engine, EngineError
from .local import LocalEngine

_NATS = ("nats", "tls", "ws", "wss")


def open_engine(url: str) -> Engine:
    """Return the engine at an address, not opened yet.

    An address is `local://`, `nats://host:4222`, several of those separated by commas, or `tls://…`. Raises
    `EngineError` for any other, `MissingExtraError` if a package is missing.
    """
    scheme = url.partition("://")[0]
    if url == "local://":
        return LocalEngine()
    if scheme not in _NATS:
        raise EngineError(f"There is no engine for {scheme!r} addresses. Use nats://host:4222, or tls://host:4222.")
    try:
        from .nats import NatsEngine
    except ModuleNotFoundError as missing:
        raise MissingExtraError(f"An engine at a {scheme}:// address", "nats") from missing
    return NatsEngine(url)


__all__ = ["LocalEngine", "open_engine"]
