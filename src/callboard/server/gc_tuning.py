"""Garbage in a process that only serves. Readers wait while all objects are looked at, so that is done seldom.

What is there when the server begins (modules, models, tools) stays until its end and is never looked at again. Requests
leave few cycles behind, and most that lives for long was going to: younger objects are looked at after more of them.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager

YOUNG = 20_000
"""How many new objects there are before they are looked at. Python's own 700 are one busy moment of a thousand readers,
whose objects would be taken for old, and the old ones looked at all the time."""


@contextmanager
def rare_collections() -> Generator[None]:
    """Collect garbage as a server should, until the end of the `with`. It holds for the whole process."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
