"""The stdio transport: a subprocess that is owned, its messages with a size limit, its standard error in the log.

It does not restart the process: that is the work of the connection above it. The SDK's own transport has no limit for
the size of a message and leaves standard error to the caller.
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from .address import StdioAddress
from .allowance import Allowance
from .message_size import BYTE_BURST, BYTE_RATE, MAX_MESSAGE, check_values

EXIT_GRACE = 2.0
"""Seconds for the process to end after its standard input is closed, and again after it was told to end."""
LOG_LINE = 2_000
"""Characters of a line of standard error that are logged."""
LOG_BURST, LOG_RATE = 200, 20.0
"""Lines of standard error that are logged at once, and per second after that."""
LINE_BURST, LINE_RATE = 10_000, 2_000.0
"""Lines that are read at once, empty ones too, and per second after that: a server that writes more has to wait."""


Sleep = Callable[[float], Awaitable[None]]


class MessageTooLong(Exception):
    """The server sent a message above the limit."""


@asynccontextmanager
async def stdio_transport(
    address: StdioAddress, log: logging.Logger, sleep: Sleep = anyio.sleep
) -> AsyncGenerator[tuple[Any, Any]]:
    """Start a server. Yields the streams of its messages; ends it, and the processes that it started, at the end."""
    process = await anyio.open_process(
        list(address.command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=get_default_environment() | dict(address.env),
        cwd=address.cwd,
        start_new_session=True,
    )
    received, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process, received, sleep)
            group.start_soon(_write, process, to_send)
            group.start_soon(_log_errors, process, log, sleep)
            try:
                yield messages, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process)
                group.cancel_scope.cancel()
    finally:
        for stream in (received, messages, outgoing, to_send):
            stream.close()
        with anyio.move_on_after(EXIT_GRACE, shield=True):
            await process.aclose()


async def _read(process: Process, received: Any, sleep: Sleep) -> None:
    """Deliver the lines of standard output. Closes the stream when the server ends or breaks the rules."""
    assert process.stdout is not None
    async with received:
        try:
            async for line in lines(paced(process.stdout, sleep), MAX_MESSAGE):
                try:
                    check_values(line)
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError as error:
                    await received.send(error)
                else:
                    await received.send(SessionMessage(message))
        except MessageTooLong as error:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await received.send(error)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return


async def paced(stream: ByteReceiveStream, sleep: Sleep) -> AsyncGenerator[bytes]:
    """Yield the chunks of a stream, no faster than a server may send."""
    sizes = Allowance(BYTE_BURST, BYTE_RATE, anyio.current_time)
    counts = Allowance(LINE_BURST, LINE_RATE, anyio.current_time)
    async for chunk in stream:
        yield chunk
        if delay := max(sizes.spend(len(chunk)), counts.spend(chunk.count(b"\n"))):
            await sleep(delay)


async def lines(stream: AsyncIterable[bytes], longest: int) -> AsyncGenerator[bytes]:
    """Yield the lines of a stream that are not empty. Raises `MessageTooLong`."""
    parts: list[bytes] = []
    size = 0
    async for chunk in stream:
        first, *others = chunk.split(b"\n")
        parts.append(first)
        size += len(first)
        if size > longest:
            raise MessageTooLong(f"it sent a message of more than {longest:,} bytes")
        for other in others:
            if line := b"".join(parts).strip():
                yield line
            parts, size = [other], len(other)


async def _write(process: Process, to_send: Any) -> None:
    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async with to_send:
            async for each in to_send:
                await process.stdin.send(
                    each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                )


async def _log_errors(process: Process, log: logging.Logger, sleep: Sleep) -> None:
    """Log the lines of standard error: readable, short, and not too many."""
    assert process.stderr is not None
    allowance = Allowance(LOG_BURST, LOG_RATE, anyio.current_time)
    dropped = 0
    rest = b""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for chunk in paced(process.stderr, sleep):
            *complete, rest = (rest + chunk).split(b"\n")
            if len(rest) > LOG_LINE:
                complete, rest = [*complete, rest], b""
            for line in complete:
                if not line.strip():
                    continue
                if not allowance.take():
                    dropped += 1
                    continue
                if dropped:
                    log.warning("%d lines of standard error came too fast and are not logged", dropped)
                    dropped = 0
                log.info("%s", readable(line))
    if rest.strip():
        log.info("%s", readable(rest))


def readable(line: bytes) -> str:
    """Return a line of an untrusted program as text without control characters."""
    return printable(line[:LOG_LINE].decode(errors="replace").strip())


def printable(text: str) -> str:
    """Return an untrusted text on one line, without control characters."""
    return "".join(character if character.isprintable() else " " for character in text)


async def _stop(process: Process) -> None:
    """Close standard input, and kill what does not end by itself."""
    if process.stdin is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError), anyio.move_on_after(EXIT_GRACE):
            await process.stdin.aclose()
    if not await _has_ended(process):
        _signal(process, signal.SIGTERM)
        await _has_ended(process)
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # also for processes that it has started
    await _has_ended(process)


async def _has_ended(process: Process) -> bool:
    """Wait for the end of a process, without waiting for its pipes, which its children may keep open."""
    with anyio.move_on_after(EXIT_GRACE):
        while process.returncode is None:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    return process.returncode is not None


def _signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.send_signal(number)
        else:
            os.killpg(process.pid, number)  # the process leads its group
