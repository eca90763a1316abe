"""The public names are what is promised, and each leads somewhere."""

import importlib.metadata
import re

import callboard

NAMES = {
    "toolset",
    "BackoffStrategy",
    "BreakerPolicy",
    "CallboardError",
    "ErrorCategory",
    "ErrorTable",
    "Event",
    "Limits",
    "LocalToolset",
    "Outcome",
    "Registry",
    "RegistrationError",
    "RetryPolicy",
    "Runtime",
    "SchemaError",
    "Session",
    "Settings",
    "Snapshot",
    "Tool",
    "ToolContext",
    "ToolError",
    "Toolset",
    "Turn",
    "TurnLimits",
    "dynamic_tool",
    "tool",
}


def test_the_public_names_are_these() -> None:
    assert set(callboard.__all__) == NAMES
    assert set(dir(callboard)) == NAMES | {"__version__"}


def test_every_public_name_can_be_had() -> None:
    for name in callboard.__all__:
        assert getattr(callboard, name).__name__ == name


def test_the_base_package_needs_pydantic_and_anyio_alone() -> None:
    required = importlib.metadata.requires("callboard") or []
    base = {re.split(r"[ <>=;\[]", each)[0] for each in required if "extra ==" not in each}
    assert base == {"pydantic", "anyio"}
