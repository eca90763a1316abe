"""The public names: the list is fixed, and every name can be imported."""

import ast
import importlib.metadata
import re
from pathlib import Path

import callboard

ROOT = Path(__file__).parents[2]

NAMES = {
    "AnswerInvalid",
    "ArgumentsMismatch",
    "BackoffStrategy",
    "BreakerPolicy",
    "CallIdInvalid",
    "CallboardError",
    "CursorExpired",
    "DocumentChanged",
    "ErrorCategory",
    "ErrorTable",
    "Event",
    "EventInvalid",
    "Limits",
    "LocalToolset",
    "MissingExtraError",
    "OpenRequest",
    "Outcome",
    "PostingRefused",
    "RegistrationError",
    "Registry",
    "RequestClosed",
    "RequestPurpose",
    "RetryPolicy",
    "Runtime",
    "RuntimeNotOpen",
    "SchemaError",
    "Session",
    "SessionIdInvalid",
    "SessionNotFound",
    "Settings",
    "SettingsError",
    "Snapshot",
    "StoreError",
    "StoreOutdated",
    "StoreUnavailable",
    "StoreUnconfirmed",
    "Tool",
    "ToolContext",
    "ToolError",
    "Toolset",
    "Turn",
    "TurnLimits",
    "dynamic_tool",
    "mcp_toolset",
    "tool",
    "toolset",
}


def test_the_public_names_are_these() -> None:
    assert set(callboard.__all__) == NAMES
    assert set(dir(callboard)) == NAMES | {"__version__"}


def test_every_public_name_can_be_imported() -> None:
    for name in callboard.__all__:
        assert getattr(callboard, name).__name__ == name


def error_classes() -> set[str]:
    """Return the names of all subclasses of `CallboardError` in the package."""
    bases: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, set()).update(each.id for each in node.bases if isinstance(each, ast.Name))
    found = {"CallboardError"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


def test_every_error_that_the_documentation_names_is_public() -> None:
    errors = error_classes()
    assert {"ToolError", "CursorExpired", "SessionNotFound"} <= errors
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        named = errors & set(re.findall(r"\b[A-Z]\w+\b", page.read_text()))
        assert named <= NAMES, page.name


def test_every_error_that_a_docstring_of_the_session_names_is_public() -> None:
    texts = [callboard.Session.__doc__, callboard.Runtime.open.__doc__]
    texts += [getattr(callboard.Session, name).__doc__ for name in dir(callboard.Session) if not name.startswith("_")]
    named = error_classes() & set(re.findall(r"`([A-Z]\w+)`", "\n".join(filter(None, texts))))
    assert {"CursorExpired", "RequestClosed", "RuntimeNotOpen", "SessionNotFound"} <= named <= NAMES


def test_the_base_package_needs_pydantic_and_anyio_alone() -> None:
    required = importlib.metadata.requires("callboard") or []
    base = {re.split(r"[ <>=;\[]", each)[0] for each in required if "extra ==" not in each}
    assert base == {"pydantic", "anyio"}
