"""What every test shares: the flags, the event loop, and golden files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the long tests too")
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew instead of comparing")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="long; run with --slow"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """Compare JSON data with a stored file, byte for byte; `--update-golden` stores it."""

    def compare(name: str, data: Any) -> None:
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{name} is not stored yet: run ./scripts/test --update-golden"
        assert path.read_text() == text, f"{name} differs: look at the change, then run ./scripts/test --update-golden"

    return compare
