"""Standard output as a pipe, whose reader may go while nothing is written, as in `callboard events … -f | head -1`."""

import asyncio
import os
import stat

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

STDOUT = 1


async def wait_for_closed_output() -> None:
    """Wait until the reader of standard output has closed it, and raise `BrokenPipeError`, as a write would.

    If standard output is not a pipe, wait for ever.
    """
    closed = asyncio.Event()
    if not _is_pipe():
        await closed.wait()
    loop = asyncio.get_running_loop()
    loop.add_reader(STDOUT, closed.set)  # there is nothing to read: only the error of a closed pipe is reported
    try:
        await closed.wait()
    finally:
        loop.remove_reader(STDOUT)
    raise BrokenPipeError("The reader of standard output has closed it.")


def _is_pipe() -> bool:
    """Whether it is a pipe that this process only writes to: another kind may become readable without being closed."""
    return (
        fcntl is not None
        and stat.S_ISFIFO(os.fstat(STDOUT).st_mode)
        and fcntl.fcntl(STDOUT, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
    )
