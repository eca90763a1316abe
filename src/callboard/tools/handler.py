"""A tool's code, and how it is entered: with which arguments, with or without a context, on the loop or in a thread."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing
from enum import StrEnum
from functools import partial
from types import coroutine
from typing import Any, cast

import anyio.to_thread
from anyio import CapacityLimiter

from .context import ToolContext


class HandlerKind(StrEnum):
    """What entering the handler gives back."""

    ASYNC = "async"
    """A coroutine: the usual form."""
    STREAM = "stream"
    """An async generator: what it yields are partial results, told at once. The last one is the result."""
    SYNC = "sync"
    """A value, after blocking; it runs in a thread."""


class Handler:
    """A callable with the facts that are needed to enter it. Stateless: any number of calls may be inside at once."""

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
        """The parameter that takes the `ToolContext`, if one does."""
        self.parameter = parameter
        """The parameter that takes the whole input; without one, the input is spread over the parameters."""
        self.direct = function if kind is HandlerKind.ASYNC and context is None and parameter is None else None
        """The function itself, where it takes just the spread input and gives a coroutine."""
        self.plain = kind is HandlerKind.ASYNC and context is None
        """Whether entering it gives a coroutine that needs nothing of its surroundings: the usual, fast case."""

    def enter(self, arguments: Any, context: ToolContext | None) -> Any:
        """Call the function: a coroutine, an async generator or a value, by kind."""
        if self.parameter is not None:
            arguments = {self.parameter: arguments}
        if self.context is None:
            return self.function(**arguments)
        return self.function(**arguments, **{self.context: context})

    async def run(self, arguments: Any, context: ToolContext, threads: CapacityLimiter | None = None) -> Any:
        """Run to the end. Cancellation reaches a coroutine; a thread is left to finish and its value is discarded."""
        match self.kind:
            case HandlerKind.ASYNC:
                return await self.enter(arguments, context)
            case HandlerKind.SYNC:
                entered = partial(self.enter, arguments, context)
                return await anyio.to_thread.run_sync(entered, abandon_on_cancel=True, limiter=threads)
            case HandlerKind.STREAM:
                return await _last(self.enter(arguments, context), context)


async def _last(values: AsyncGenerator[Any, Any], context: ToolContext) -> Any:
    """The last value of a generator. Those before it are partial results: all after which it does not end at once."""
    held, told = cast(Any, None), True

    async def tell() -> None:
        nonlocal told
        if not told:
            told = True
            await context.partial(held)

    async with aclosing(values):  # its clean-up runs here, also when the loop is left by an error
        while True:
            try:
                value = await _awaited(anext(values), tell)
            except StopAsyncIteration:
                return held
            except BaseException:
                await tell()
                raise
            await tell()
            held, told = value, False


@coroutine
def _awaited(what: Awaitable[Any], before: Callable[[], Awaitable[None]]) -> Generator[Any, Any, Any]:
    """What comes of something awaitable. If it has to be waited for, something else is done before.

    An error of that is raised where the awaitable waits.
    """
    steps: Any = what.__await__()
    try:
        waits_for = next(steps)
        if blocks := getattr(waits_for, "_asyncio_future_blocking", False):
            waits_for._asyncio_future_blocking = False  # the mark of a future that is handed over: others may await it
        try:
            yield from before().__await__()
        except BaseException as error:
            waits_for = steps.throw(error)
        else:
            if blocks:
                waits_for._asyncio_future_blocking = True
        while True:
            try:
                given = yield waits_for
            except BaseException as error:
                waits_for = steps.throw(error)
            else:
                waits_for = steps.send(given)
    except StopIteration as end:
        return end.value
