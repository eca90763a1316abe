"""How many examples Hypothesis tries: a few always, which finds what is often wrong, and many with `--slow`."""

from collections.abc import Collection

from hypothesis import HealthCheck, settings

slow = False


def examples(few: int, many: int, *, suppress: Collection[HealthCheck] = ()) -> settings:
    """Settings for a test of a property, however long an example takes."""
    return settings(max_examples=many if slow else few, deadline=None, suppress_health_check=suppress)
