"""The core loads few packages, and imports are at the top of files, except those that are listed here."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "callboard"

LAZY = {
    "__init__.py": {"errors"},
    "adapters/stores/__init__.py": {"postgres.database", "sql", "sqlite.database"},
    "adapters/stores/revisions.py": {"migrations"},
    "adapters/engines/__init__.py": {"nats"},
    "runtime.py": {"chat", "demo.offline"},
    "sessions/posting.py": {"events.posting"},
    "categories.py": {"email.utils"},
    "cli/__init__.py": {"app"},
    "cli/app.py": {"terminal.console"},
    "cli/commands/demo.py": {"demo.offline"},
    "cli/commands/serve.py": {"server"},
    "cli/commands/worker.py": {"server.worker_health", "uvicorn.loops.auto"},
    "server/identity/authentication.py": {"keyset", "tokens"},
    "server/launch.py": {"resource"},
    "telemetry/__init__.py": {"metrics", "opentelemetry", "opentelemetry.sdk.trace", "tracing"},
    "toolkits/ethereum/signer.py": {"eth_account"},
    "tools/definition.py": {"content"},
    "tools/docstrings.py": {"docstring_parser"},
    "tools/function.py": {"signature"},
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


def modules_after(statement: str) -> set[str]:
    """Return the names of all modules that a new process has loaded after a statement."""
    code = f"{statement}\nimport sys; print(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def loaded_by(statement: str) -> set[str]:
    """Return the top-level packages outside the standard library that a statement loads in a new process."""
    names = {name.partition(".")[0] for name in modules_after(statement) - modules_after("pass")}
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


def test_a_registry_without_tools_loads_no_pydantic_models() -> None:
    """They cost as much as the rest of the import, and a process that makes no tool does not need them."""
    loaded = modules_after("from callboard import Registry, tool")
    assert "callboard.tools.registry" in loaded
    assert loaded.isdisjoint({"pydantic.main", "pydantic.type_adapter", "pydantic.json_schema", "pydantic.types"})


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_load_only_typer(option: str) -> None:
    loaded = loaded_by(f"""
import contextlib, sys
sys.argv = ["callboard", {option!r}]
from callboard.cli import main
with contextlib.suppress(SystemExit):
    main()
""")
    assert loaded <= {"callboard", "typer", "annotated_doc", "shellingham"}


def test_a_server_loads_only_the_parts_that_it_uses(tmp_path: Path) -> None:
    """No other model than the chosen one, no other database, no tokens or traces if they are not set up."""
    loaded = modules_after(f"""
import asyncio
from callboard import Runtime
from callboard.server.launch import _observed, create_app, guard, IdentityConfig

async def start():
    async with Runtime(model="offline", store="sqlite:///{tmp_path}/callboard.db") as runtime:
        create_app(runtime, guard=lambda app: guard(app, IdentityConfig(), runtime.store))
        with _observed(runtime, log_owners=True):
            pass

asyncio.run(start())
asyncio.run(start())
""")
    assert {"sqlalchemy", "pydantic_ai", "starlette", "callboard.demo.offline"} <= loaded
    unused = {"anthropic", "openai", "google.genai", "psycopg", "jwt", "cryptography", "opentelemetry.sdk"}
    assert loaded.isdisjoint(unused)


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
