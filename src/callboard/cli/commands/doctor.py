"""`callboard doctor`: check whether a server can start here, and print what to do if not."""

import asyncio
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import fields
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.text import Text

from ...addresses import without_password
from ...errors import CallboardError
from ...runtime import Reach, open_engine, open_store, store_address, store_status
from ...settings import GATE_PREFIX, PREFIX, Settings
from ...storage.errors import StoreError
from ..options import EngineAddress
from ..process import Exit
from ..terminal.console import AsJson, Column, out, print_json, show_table
from ..terminal.text import one_line
from .store import DEFAULT, Address, use_opened

OLDEST_PYTHON = (3, 11)
OLDEST_TIME = 1_767_225_600.0
"""The start of 2026: a clock that shows an earlier time is wrong."""
MIN_FREE_BYTES = 1_000_000
"""Free bytes of a disk with which a SQLite file can be made, and its tables."""
MAX_CLOCK_SKEW = 5.0
"""Seconds by which two clocks may differ without a warning."""

EXTRAS = {
    "cli": ("typer", "rich"),
    "docstrings": ("docstring_parser",),
    "stats": ("fastdigest",),
    "dynamic": ("jsonschema_rs",),
    "http": ("httpx2",),
    "ethereum": ("eth_abi", "eth_account", "eth_hash", "eth_utils"),
    "mcp": ("mcp",),
    "nats": ("nats",),
    "sql": ("sqlalchemy", "alembic"),
    "postgres": ("psycopg",),
    "chat": ("pydantic_ai",),
    "server": ("starlette", "uvicorn", "httptools", "jwt", "cryptography", "prometheus_client", "ag_ui"),
    "telemetry": ("opentelemetry.sdk",),
}
"""The optional parts, and the modules that each installs."""
_OPTION_VARIABLES = ("HOST", "PORT", "MODEL", "BASE_URL", "STORE", "ENGINE", "KEEP_DAYS", "KEEP_EVENTS")
_TEST_VARIABLES = ("TEST_POSTGRES", "CRASH_SEED")

_COLUMNS = (Column("check", "bold"), Column("state"), Column("found", wraps=True), Column("what to do", wraps=True))


class Mark(StrEnum):
    """The state of a check."""

    OK = "ok"
    WARNING = "warning"
    """The server can start, but you should know."""
    PROBLEM = "problem"
    """The server cannot start, or cannot be used."""


_STYLES = {Mark.OK: "green", Mark.WARNING: "yellow", Mark.PROBLEM: "red"}


class Check(NamedTuple):
    """The result of one check. Checks change nothing."""

    name: str
    mark: Mark
    found: str
    advice: str = ""

    def data(self) -> dict[str, str]:
        return {"check": self.name, "state": self.mark.value, "found": self.found, "advice": self.advice}


def run_doctor(
    host: Annotated[str, typer.Option(envvar="CALLBOARD_HOST", help="The server's address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="CALLBOARD_PORT", min=0, max=65_535, help="The server's port.")] = 8000,
    store: Address = DEFAULT,
    model: Annotated[
        str, typer.Option(metavar="NAME", envvar="CALLBOARD_MODEL", help="The server's model.")
    ] = "offline",
    engine: EngineAddress = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", envvar="CALLBOARD_BASE_URL", help="The model's server.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check whether a server can start here. Nothing is changed, and no secret is printed.

    The exit code is 0 if it can, also with warnings, and 1 if there is a
    problem.
    """
    store_check, has_keys = check_store(store)
    checks = [
        check_python(sys.version_info[:3]),
        check_extras(store),
        check_settings(),
        store_check,
        check_clock(time.time(), store),
        check_model(model, base_url),
        check_port(host, port),
        check_identity(host, has_keys),
        *([] if engine is None else [check_engine(engine, store)]),
    ]
    failed = any(check.mark is Mark.PROBLEM for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": [check.data() for check in checks]})
    else:
        show_table(_COLUMNS, [_row(check) for check in checks])
        out.print("\nA server cannot start here: see the problems above." if failed else "\nA server can start here.")
    if failed:
        raise typer.Exit(Exit.FAILED)


def _row(check: Check) -> tuple[str | Text, ...]:
    return check.name, Text(check.mark, _STYLES[check.mark]), one_line(check.found), one_line(check.advice)


def check_python(version: tuple[int, ...]) -> Check:
    number = ".".join(map(str, version))
    if version[:2] < OLDEST_PYTHON:
        return Check("python", Mark.PROBLEM, number, "Install Python 3.11 or newer.")
    return Check("python", Mark.OK, number)


def check_extras(store: str, has: Callable[[str], bool] | None = None) -> Check:
    """Check the optional parts. Only those that the server and the store need must be installed."""
    is_installed = has or _is_installed
    missing = [extra for extra, modules in EXTRAS.items() if not all(map(is_installed, modules))]
    needed = {"server", "chat", *store_address(store).extras}
    if lacking := [extra for extra in missing if extra in needed]:
        return Check("extras", Mark.PROBLEM, f"missing: {', '.join(lacking)}", _install(lacking))
    if missing:
        found = f"not installed: {', '.join(missing)}"
        return Check("extras", Mark.WARNING, found, f"If you need them: {_install(missing)}")
    return Check("extras", Mark.OK, "all installed")


def check_settings() -> Check:
    try:
        Settings.from_environment()
    except CallboardError as error:
        return Check("settings", Mark.PROBLEM, str(error), "Correct the environment variable.")
    names = sorted(name for name in os.environ if name.startswith(PREFIX))
    try:
        unknown = unknown_variables(names)
    except ModuleNotFoundError:  # the server, which has variables of its own, is not installed
        unknown = dict[str, str | None]()
    if unknown:
        similar = [name for name in unknown.values() if name]
        advice = f"Did you mean {', '.join(similar)}?" if similar else "Remove the unknown variables."
        return Check("settings", Mark.WARNING, f"unknown variables: {', '.join(unknown)}", advice)
    return Check("settings", Mark.OK, f"from the environment: {', '.join(names)}" if names else "the defaults")


def check_store(url: str) -> tuple[Check, bool]:
    """Check the store, and whether it has keys. Its own errors already say what to do."""
    address = store_address(url)
    if address.reach is Reach.PROCESS:
        return Check("store", Mark.WARNING, "in memory", "All data is lost when the server stops. Use --store."), False
    try:
        opened = open_store(url)
        status = store_status(url)
    except CallboardError as error:
        return Check("store", Mark.PROBLEM, str(error)), False
    kind = address.kind
    if address.file is not None and (problem := _folder_problem(address.file)):
        return problem, False
    if status.revision is None:
        return Check("store", Mark.OK, f"{kind}: empty; the first server creates its tables"), False
    if status.revision != status.newest:
        found = f"{kind}: revision {status.revision}, but {status.newest} is needed"
        mark = Mark.WARNING if address.migrates_itself else Mark.PROBLEM
        return Check("store", mark, found, "Make a backup, then run: callboard migrate"), False
    try:
        keys = use_opened(opened, lambda store: store.keys(limit=1))
    except StoreError as error:
        return Check("store", Mark.PROBLEM, str(error)), False
    return Check("store", Mark.OK, f"{kind}: at the newest revision, {status.newest}"), bool(keys)


def _folder_problem(file: Path) -> Check | None:
    """Find out why a SQLite file cannot be made or grow."""
    if not file.exists() and not os.access(file.parent, os.W_OK | os.X_OK):
        advice = "Give this user the right to write the folder, or choose another --store."
        return Check("store", Mark.PROBLEM, f"sqlite: {file.parent.absolute()} may not be written", advice)
    if shutil.disk_usage(file.parent).free < MIN_FREE_BYTES:
        return Check("store", Mark.PROBLEM, f"sqlite: the disk of {file.parent.absolute()} is full", "Make room on it.")
    return None


def check_clock(now: float, store: str) -> Check:
    """Check the clock, which expiry, leases and tokens depend on."""
    advice = "Set the clock, and keep it right with NTP."
    if now < OLDEST_TIME:
        return Check("clock", Mark.PROBLEM, f"it shows {time.strftime('%Y-%m-%d', time.gmtime(now))}", advice)
    other, name = _other_clock(store)
    if other is not None and other - now > MAX_CLOCK_SKEW:
        return Check("clock", Mark.WARNING, f"{other - now:.0f} s behind {name}", advice)
    if other is not None and now - other > MAX_CLOCK_SKEW and name.startswith("the database"):
        return Check("clock", Mark.WARNING, f"{now - other:.0f} s ahead of {name}", advice)
    return Check("clock", Mark.OK, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)))


def check_model(name: str, base_url: str | None = None) -> Check:
    if name == "offline" and base_url is None:
        advice = "For a language model: set --model and its API key."
        return Check("model", Mark.OK, "offline, which is not a language model", advice)
    try:
        models = import_module("callboard.chat.model")
        if base_url is not None:
            models.compatible_model(name, base_url)
            return Check("model", Mark.OK, f"{name}, of {without_password(base_url)}")
        models.choose_model(name)
    except ModuleNotFoundError:
        return Check("model", Mark.PROBLEM, "a package is missing", _install(["chat"]))
    except CallboardError as error:
        return Check("model", Mark.PROBLEM, str(error), "Set it, or choose another model with --model.")
    return Check("model", Mark.OK, f"{name}, with its API key")


def check_port(host: str, port: int) -> Check:
    """Check whether a server could listen at an address."""
    address = f"{host}, port {port}"
    try:
        family, *_, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        socket.create_server((str(found[0]), int(found[1])), family=family).close()
    except OSError as error:
        return Check("port", Mark.PROBLEM, f"{address}: {error.strerror or error}", "Choose another: --host, --port.")
    return Check("port", Mark.OK, f"{address} is free")


def check_identity(host: str, keys: bool) -> Check:
    """Check that clients must identify themselves if other machines can reach the server."""
    try:
        identity = import_module("callboard.server.identity")
        config: Any = identity.IdentityConfig.from_environment()
    except ModuleNotFoundError:
        return Check("identity", Mark.PROBLEM, "the server is not installed", _install(["server"]))
    except CallboardError as error:
        return Check("identity", Mark.PROBLEM, str(error), "Correct the environment variable.")
    create = "Create an API key: callboard keys create --user NAME"
    if not identity.may_listen(host, config, keys=keys):
        return Check(
            "identity", Mark.PROBLEM, f"other machines could use the server on {host} without an API key", create
        )
    if config.jwks is not None and not _has_key_set(config):
        advice = "Check that CALLBOARD_JWKS names a readable key set with public keys."
        return Check("identity", Mark.PROBLEM, "the key set that verifies tokens cannot be used", advice)
    ways = [*(["keys"] if keys else []), *(["tokens"] if config.jwks is not None else [])]
    if ways:
        return Check("identity", Mark.OK, f"required: {' or '.join(ways)}")
    if config.insecure:
        return Check("identity", Mark.WARNING, "any machine can use it without an API key", create)
    return Check("identity", Mark.OK, "only this machine can use it, as one user")


def check_engine(url: str, store: str) -> Check:
    """Check that the engine answers, that its stream can be used, and that workers serve the queues."""
    try:
        opened = open_engine(url)
        problems = asyncio.run(opened.problems())
        is_reachable = store_address(store).reach is Reach.NETWORK
        if is_reachable and not problems:
            problems = [
                f"{depth.waiting} executions wait in the queue {depth.queue}, which no worker serves"
                for depth in use_opened(open_store(store), lambda each: each.queue_depths())
                if depth.queue not in asyncio.run(_served(url))
            ]
            if problems:
                return Check("engine", Mark.WARNING, "; ".join(problems), "Start one: callboard worker --queues …")
    except CallboardError as error:
        return Check("engine", Mark.PROBLEM, str(error))
    if problems:
        return Check("engine", Mark.PROBLEM, "; ".join(problems))
    if not is_reachable:
        return Check("engine", Mark.PROBLEM, "it answers", "An engine needs a store at a postgresql:// address.")
    return Check("engine", Mark.OK, "it answers, and its stream can be used")


async def _served(url: str) -> set[str]:
    """Return the queues that workers serve."""
    opened, connected = open_engine(url), asyncio.Event()
    await opened.open(connected.set)
    try:
        async with asyncio.timeout(5.0):
            await connected.wait()
            return {queue for worker in await opened.workers() for queue in worker.queues}
    except TimeoutError:
        return set()
    finally:
        await opened.close()


def unknown_variables(names: Iterable[str]) -> dict[str, str | None]:
    """The `CALLBOARD_…` variables that nothing reads, each with the most similar known one.

    Raises `ModuleNotFoundError` if the server, which has variables of its own, is not installed.
    """
    config = import_module("callboard.server.identity").IdentityConfig
    settings = {field.name.upper() for field in (*fields(Settings), *fields(config))} - {"GATES"}
    known = sorted({*settings, *_OPTION_VARIABLES, *_TEST_VARIABLES})
    unknown = [name for name in names if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in known]
    return {
        name: next((PREFIX + match for match in get_close_matches(name.removeprefix(PREFIX), known, n=1)), None)
        for name in unknown
        if not name.startswith(GATE_PREFIX)
    }


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def _install(extras: list[str]) -> str:
    return f'pip install "callboard[{",".join(extras)}]"'


def _has_key_set(config: Any) -> bool:
    keyset = import_module("callboard.server.identity.keyset")
    try:
        return bool(keyset.usable_keys(keyset.read_source(config.jwks), config.jwt_algorithms))
    except Exception:  # of a file, of the network, or of the content
        return False


def _other_clock(url: str) -> tuple[float | None, str]:
    """A time to compare the clock with, and its name: the database's, or that of the file's last change."""
    address = store_address(url)
    if address.file is not None:
        try:
            return address.file.stat().st_mtime, "the last change of the store"
        except OSError:
            return None, ""
    if address.reach is not Reach.NETWORK:
        return None, ""
    try:
        return store_status(url).clock, "the database's server"
    except (CallboardError, ModuleNotFoundError):
        return None, ""
