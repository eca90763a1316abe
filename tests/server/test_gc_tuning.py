"""Garbage is collected less often while a server runs, and as before afterwards."""

import gc
import weakref

from callboard.server.gc_tuning import YOUNG, rare_collections


class Knot:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.self = self


def test_existing_objects_are_not_collected_while_a_server_runs():
    before = gc.get_threshold()
    with rare_collections():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == (YOUNG, *before[1:])
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == before


def test_later_objects_are_collected():
    with rare_collections():
        gone = weakref.ref(Knot())
        gc.collect()
        assert gone() is None
