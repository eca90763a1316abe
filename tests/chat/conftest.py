"""A fresh set of gates for every test."""

from collections.abc import Iterator

import pytest

from .scripted import gates


@pytest.fixture(autouse=True)
def fresh_gates() -> Iterator[None]:
    gates.clear()
    yield
    gates.clear()
