"""A process that serves collects its garbage seldom, and one that served collects it as before."""

import gc
import weakref

from callboard.server.gc_tuning import YOUNG, rare_collections


class Knot:
    """Refers to itself."""

    def __init__(self) -> None:
        self.self = self


def test_what_was_there_is_not_looked_at_while_a_server_runs():
    before = gc.get_threshold()
    with rare_collections():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == (YOUNG, *before[1:])
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == before


def test_what_came_later_is_still_collected():
    with rare_collections():
        gone = weakref.ref(Knot())
        gc.collect()
        assert gone() is None
