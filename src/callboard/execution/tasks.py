"""Start the task of an execution with standard asyncio.

From Python 3.12 on the task takes its first step at once, within the caller's turn of the event loop. On 3.11 it takes
that step in the next turn.
"""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

if sys.version_info >= (3, 12):

    def start_task(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
        """Start a task. It may be done already when this returns."""
        return asyncio.Task(work, loop=loop, eager_start=True)

else:

    def start_task(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
        """Start a task. It takes its first step in the next turn of the event loop."""
        return asyncio.Task(work, loop=loop)
