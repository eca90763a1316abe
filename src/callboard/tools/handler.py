"""The code of a tool, and how to call it: its parameters, with or without a context, on the loop or in a thread."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from enum import StrEnum
from functools import partial
from typing import Any, cast

import anyio.to_thread
from anyio import CapacityLimiter

from .context import ToolContext

_END = object()


class HandlerKind(StrEnum):
    """The kind of function behind a handler."""

    ASYNC = "async"
    """A coroutine function."""
    STREAM = "stream"
    """An async generator function. The last value is the result; the others are published as partial results."""
    SYNC = "sync"
    """A blocking function, which runs in a thread."""


class Handler:
    """A callable and the names of its special parameters. Stateless: calls may run concurrently."""

    __slots__ = ("context", "direct", "function", "kind", "parameter", "plain")

    def __init__(
        self,
        function: Callable[..., Any],
        kind: HandlerKind,
        *,
        context: str | None = None,
        parameter: str | None = None,
    ) -> None:
        self.function = function
        self.kind = kind
        self.context = context
        """The parameter that takes the `ToolContext`, or None."""
        self.parameter = parameter
        """The parameter that takes the whole input; if None, each property is passed as a keyword argument."""
        self.direct = function if kind is HandlerKind.ASYNC and context is None and parameter is None else None
        """The function, if it is a coroutine function that takes only the properties of the input; otherwise None."""
        self.plain = kind is HandlerKind.ASYNC and context is None
        """Whether the function is a coroutine function that takes no context: the usual, fast case."""

    def enter(self, arguments: Any, context: ToolContext | None) -> Any:
        """Call the function. Returns a coroutine, an async generator or a value, depending on the kind."""
        if self.parameter is not None:
            arguments = {self.parameter: arguments}
        if self.context is None:
            return self.function(**arguments)
        return self.function(**arguments, **{self.context: context})

    async def run(self, arguments: Any, context: ToolContext, threads: CapacityLimiter | None = None) -> Any:
        """Run to completion. Cancellation stops a coroutine; a thread continues and its value is discarded."""
        match self.kind:
            case HandlerKind.ASYNC:
                return await self.enter(arguments, context)
            case HandlerKind.SYNC:
                entered = partial(self.enter, arguments, context)
                return await anyio.to_thread.run_sync(entered, abandon_on_cancel=True, limiter=threads)
            case HandlerKind.STREAM:
                return await _last(self.enter(arguments, context), context)


async def _last(values: AsyncGenerator[Any, Any], context: ToolContext) -> Any:
    """Return the last value of a generator, and publish the values before it as partial results."""
    last: Any = None
    async with aclosing(values):
        following = await anext(values, _END)
        while following is not _END:
            last = following
            following = await _next(values, last, context)
    return last


async def _next(values: AsyncGenerator[Any, Any], previous: Any, context: ToolContext) -> Any:
    """Return the next value of a generator, or `_END`, and publish the previous value as a partial result.

    The previous value is published as soon as the generator waits, yields or fails. If the generator ends without
    waiting, the previous value is the result and is not published. If publishing fails, the generator is cancelled.
    """
    publishing: list[asyncio.Task[None]] = []
    failure: Exception | None = None
    following: Any = _END
    try:
        async with asyncio.TaskGroup() as group:
            start = asyncio.get_running_loop().call_soon(  # runs only if the generator waits
                lambda: publishing.append(group.create_task(context.partial(previous)))
            )
            try:
                following = await anext(values, _END)
            except Exception as error:  # raised after the previous value is published
                failure = error
            finally:
                start.cancel()
    except ExceptionGroup as errors:
        error = cast("Exception", errors.exceptions[0])
        raise error from error.__cause__
    if not publishing and (failure is not None or following is not _END):
        await context.partial(previous)
    if failure is None:
        return following
    try:
        raise failure
    finally:
        failure = None  # breaks the reference cycle with this frame
