"""What `callboard doctor` looks at. Each check finds something out, changes nothing, and says what to do about it."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import CallboardError
from ..runtime import open_store, store_status
from ..settings import PREFIX, Settings
from ..storage.errors import StoreError
from ..storage.store import Store
from .variables import unknown_variables

OLDEST_PYTHON = (3, 11)
BORN = 1_767_225_600.0
"""The beginning of 2026: no clock is right that shows an earlier time."""
APART = 5.0
"""Seconds by which two clocks may differ before it is worth a word."""

EXTRAS = {
    "cli": ("typer", "rich"),
    "docstrings": ("docstring_parser",),
    "stats": ("fastdigest",),
    "dynamic": ("jsonschema_rs",),
    "http": ("httpx2",),
    "sql": ("sqlalchemy", "alembic"),
    "postgres": ("psycopg",),
    "chat": ("pydantic_ai",),
    "server": ("starlette", "uvicorn", "httptools", "jwt", "cryptography", "prometheus_client", "ag_ui"),
    "telemetry": ("opentelemetry.sdk",),
}
"""The optional parts, and the modules by which one sees that they are there."""


class Mark(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"
    """It works, but somebody should know."""
    PROBLEM = "problem"
    """A server cannot start, or nobody could use it."""


class Check(NamedTuple):
    """What was looked at, and what was found."""

    name: str
    mark: Mark
    found: str
    advice: str = ""

    def data(self) -> dict[str, str]:
        return {"check": self.name, "state": self.mark.value, "found": self.found, "advice": self.advice}


def examine(host: str, port: int, store: str, model: str) -> list[Check]:
    """Look at everything that a server at that address would need."""
    found, keys = check_store(store)
    return [
        check_python(sys.version_info[:3]),
        check_extras(store),
        check_settings(),
        found,
        check_clock(time.time(), store),
        check_model(model),
        check_port(host, port),
        check_identity(host, keys),
    ]


def check_python(version: tuple[int, ...]) -> Check:
    shown = ".".join(map(str, version))
    if version[:2] < OLDEST_PYTHON:
        return Check("python", Mark.PROBLEM, shown, "Install Python 3.11 or a newer one.")
    return Check("python", Mark.OK, shown)


def check_extras(store: str, has: Callable[[str], bool] | None = None) -> Check:
    """Which optional parts are installed. Only those that are needed here have to be."""
    is_there = has or _is_installed
    missing = [extra for extra, modules in EXTRAS.items() if not all(map(is_there, modules))]
    needed = {"server", "chat"}
    if store.startswith(("sqlite", "postgres")):
        needed |= {"sql", "postgres"} if store.startswith("postgres") else {"sql"}
    if lacking := [extra for extra in missing if extra in needed]:
        return Check("extras", Mark.PROBLEM, f"missing: {', '.join(lacking)}", _install(lacking))
    if missing:
        found = f"not installed: {', '.join(missing)}"
        return Check("extras", Mark.WARNING, found, f"If you need them: {_install(missing)}")
    return Check("extras", Mark.OK, "all are installed")


def check_settings() -> Check:
    try:
        Settings.from_environment()
    except CallboardError as error:
        return Check("settings", Mark.PROBLEM, str(error), "Correct the environment variable.")
    names = sorted(name for name in os.environ if name.startswith(PREFIX))
    try:
        unknown = unknown_variables(names)
    except ModuleNotFoundError:  # of the server, whose variables are not known then
        unknown = dict[str, str | None]()
    if unknown:
        meant = [near for near in unknown.values() if near]
        advice = f"Did you mean {', '.join(meant)}?" if meant else "Remove what nothing reads."
        return Check("settings", Mark.WARNING, f"nothing reads: {', '.join(unknown)}", advice)
    return Check("settings", Mark.OK, f"from the environment: {', '.join(names)}" if names else "the defaults")


def check_store(url: str) -> tuple[Check, bool]:
    """Whether the store can be used, and whether it has keys. Its errors say themselves what to do."""
    if url == "memory://":
        return Check("store", Mark.WARNING, "in memory", "Everything is gone when the server ends. Use --store."), False
    try:
        opened = open_store(url)
        look = store_status(url)
    except CallboardError as error:
        return Check("store", Mark.PROBLEM, str(error)), False
    kind = url.partition(":")[0]
    if look.revision is None:
        return Check("store", Mark.OK, f"{kind}: empty; the first server makes its tables"), False
    if look.revision != look.newest:
        found = f"{kind}: revision {look.revision}, and {look.newest} is needed"
        mark = Mark.WARNING if kind == "sqlite" else Mark.PROBLEM
        return Check("store", mark, found, "Make a backup, then: callboard migrate"), False
    try:
        keys = asyncio.run(_has_keys(opened))
    except StoreError as error:
        return Check("store", Mark.PROBLEM, str(error)), False
    return Check("store", Mark.OK, f"{kind}: at the newest revision, {look.newest}"), keys


def check_clock(now: float, store: str) -> Check:
    """Whether the clock is right as far as one can tell. Expiry, leases and tokens go by it."""
    advice = "Set the clock, and have it kept right (NTP)."
    if now < BORN:
        return Check("clock", Mark.PROBLEM, f"it shows {time.strftime('%Y-%m-%d', time.gmtime(now))}", advice)
    other, whose = _other_clock(store)
    if other is not None and other - now > APART:
        return Check("clock", Mark.WARNING, f"{other - now:.0f} s behind {whose}", advice)
    if other is not None and now - other > APART and whose.startswith("the database"):
        return Check("clock", Mark.WARNING, f"{now - other:.0f} s ahead of {whose}", advice)
    return Check("clock", Mark.OK, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)))


def check_model(name: str) -> Check:
    if name == "offline":
        return Check("model", Mark.OK, "offline, which is no language model", "For a real one: --model, and its key")
    try:
        import_module("callboard.chat.model").choose_model(name)
    except ModuleNotFoundError:
        return Check("model", Mark.PROBLEM, "a package is missing", _install(["chat"]))
    except CallboardError as error:
        return Check("model", Mark.PROBLEM, str(error), "Set it, or choose another model with --model.")
    return Check("model", Mark.OK, f"{name}; what it needs is set")


def check_port(host: str, port: int) -> Check:
    """Whether one could listen there now."""
    place = f"{host}, port {port}"
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        socket.create_server((str(address[0]), int(address[1])), family=family).close()
    except OSError as error:
        return Check("port", Mark.PROBLEM, f"{place}: {error.strerror or error}", "Choose another: --host, --port.")
    return Check("port", Mark.OK, f"{place} is free")


def check_identity(host: str, keys: bool) -> Check:
    """Whether people have to say who they are where others can reach the server."""
    try:
        identity = import_module("callboard.server.identity")
        config: Any = identity.IdentityConfig.from_environment()
    except ModuleNotFoundError:
        return Check("identity", Mark.PROBLEM, "the server is not installed", _install(["server"]))
    except CallboardError as error:
        return Check("identity", Mark.PROBLEM, str(error), "Correct the environment variable.")
    make = "callboard keys create --user NAME"
    if not identity.may_listen(host, config, keys=keys):
        return Check("identity", Mark.PROBLEM, f"nobody would have to say who he is on {host}", f"Make a key: {make}")
    if config.jwks is not None and not _has_key_set(config):
        advice = "See that CALLBOARD_JWKS is right, can be read, and has public keys to verify with."
        return Check("identity", Mark.PROBLEM, "the key set that signs tokens cannot be used", advice)
    ways = [*(["keys"] if keys else []), *(["tokens"] if config.jwks is not None else [])]
    if ways:
        return Check("identity", Mark.OK, f"whoever has one of: {', '.join(ways)}")
    if config.insecure:
        return Check("identity", Mark.WARNING, "everybody is let in, from anywhere", f"Make a key: {make}")
    return Check("identity", Mark.OK, "this machine alone, as one person")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it would be in
        return False


def _install(extras: list[str]) -> str:
    return f'pip install "callboard[{",".join(extras)}]"'


def _has_key_set(config: Any) -> bool:
    keyset = import_module("callboard.server.identity.keyset")
    try:
        return bool(keyset.usable_keys(keyset.read_source(config.jwks), config.jwt_algorithms))
    except Exception:  # whatever a file, a network, or its content may do
        return False


async def _has_keys(store: Store) -> bool:
    await store.open(lambda _: None)
    try:
        return bool(await store.keys(limit=1))
    finally:
        await store.close()


def _other_clock(url: str) -> tuple[float | None, str]:
    """Another clock to hold this one against: that of the database, or the one by which its file was last written."""
    if url.startswith("sqlite:///"):
        try:
            return Path(url.removeprefix("sqlite:///")).stat().st_mtime, "the last change of the store"
        except OSError:
            return None, ""
    if not url.startswith("postgres"):
        return None, ""
    try:
        return store_status(url).clock, "the database's server"
    except (CallboardError, ModuleNotFoundError):
        return None, ""
