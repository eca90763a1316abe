"""The number of examples that Hypothesis tries: a few by default, and many with `--slow`."""

from collections.abc import Collection

from hypothesis import HealthCheck, settings

slow = False


def examples(few: int, many: int, *, suppress: Collection[HealthCheck] = ()) -> settings:
    """Make settings for the test of a property, without a limit on the time of an example."""
    return settings(max_examples=many if slow else few, deadline=None, suppress_health_check=suppress)
