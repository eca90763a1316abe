"""No module imports itself through others, including imports for type checking."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}


def imports_of(module: str, path: Path) -> set[str]:
    """Return the modules of the package that a module imports, inside functions and for type checking too."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *((node.module or "").split(".") if node.module else ())]
            for alias in node.names:
                name = ".".join([*base, alias.name])
                found.add(name if name in MODULES else ".".join(base))
    return (found & MODULES.keys()) - {module, "callboard"}


def test_there_is_no_import_cycle() -> None:
    graph = {name: imports_of(name, path) for name, path in MODULES.items() if name != "callboard"}
    assert "callboard.sessions.live_session" in graph["callboard.sessions.session"]
    TopologicalSorter(graph).prepare()  # raises CycleError, with the modules of a cycle
