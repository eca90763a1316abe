"""Garbage collection of a server process, in which a full collection delays all requests.

Objects that exist at the start (modules, models, tools) stay until the end, so they are frozen. Requests leave few
reference cycles, so young objects are collected less often.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager

YOUNG = 20_000
"""New objects that start a collection. With Python's default of 700, short-lived objects of a thousand readers would be
promoted to older generations, and those collected all the time."""


@contextmanager
def rare_collections() -> Generator[None]:
    """Collect garbage less often until the end of the `with`, in the whole process."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
