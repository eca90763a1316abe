"""The core loads few packages, and imports are at the top of files, except those that are listed here."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "callboard"

LAZY = {
    "__init__.py": {"errors"},
    "adapters/stores/__init__.py": {"postgres", "sql", "sqlite"},
    "adapters/stores/revisions.py": {"migrations"},
    "runtime.py": {"chat", "demo.offline"},
    "sessions/posting.py": {"events.posting"},
    "categories.py": {"email.utils"},
    "cli/__init__.py": {"app"},
    "cli/commands/demo.py": {"demo.offline"},
    "cli/commands/serve.py": {"server"},
    "server/launch.py": {"resource"},
    "telemetry/__init__.py": {"metrics", "opentelemetry", "opentelemetry.sdk.trace", "tracing"},
    "tools/docstrings.py": {"docstring_parser"},
    "tools/schema_arguments.py": {"jsonschema_rs"},
    "tools/stats.py": {"fastdigest"},
}
"""Heavy or optional parts that are imported when they are first needed."""

CORE = "from callboard import Registry, Runtime, ToolError, tool"


def imported_inside_functions(path: Path) -> set[str]:
    found: set[str] = set()
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    found.add(node.module or "")
    return found


def test_imports_inside_functions_are_only_those_named_here() -> None:
    found = {
        str(path.relative_to(SOURCE)): names
        for path in sorted(SOURCE.rglob("*.py"))
        if (names := imported_inside_functions(path))
    }
    assert found == LAZY


def test_only_the_runtime_and_testing_name_adapters_in_strings() -> None:
    """Import-linter sees imports; this sees names for `import_module`."""
    allowed = ("adapters", "testing")
    found = {
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in allowed
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "adapters." in node.value
    }
    assert found == set()


def loaded_by(statement: str) -> set[str]:
    """Return the top-level packages outside the standard library that a statement loads in a new process."""
    code = f"{statement}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    base = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*{n.partition('.')[0] for n in sys.modules})"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = set(done.stdout.split()) - set(base.stdout.split())
    return {name for name in names if name not in sys.stdlib_module_names and not name.startswith("_sysconfigdata")}


def test_importing_the_package_loads_nothing_else() -> None:
    assert loaded_by("import callboard") == {"callboard"}


def test_the_core_loads_only_pydantic_and_anyio() -> None:
    assert loaded_by(CORE) <= {
        "callboard",
        "pydantic",
        "pydantic_core",
        "annotated_types",
        "typing_extensions",
        "typing_inspection",
        "anyio",
        "idna",
        "sniffio",
    }


@pytest.mark.parametrize(
    ("missing", "statement", "extra"),
    [
        ("starlette", "from callboard.server.app import create_app", "server"),
        ("ag_ui", "from callboard.server.app import create_app", "server"),
        ("pydantic_ai", "from callboard import toolset", "chat"),
        ("pydantic_ai", "import callboard; callboard.toolset", "chat"),
    ],
)
def test_missing_package_is_named_by_its_extra(missing: str, statement: str, extra: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; {statement}"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("callboard.errors.MissingExtraError: ")
    assert last.endswith(f'pip install "callboard[{extra}]"')
