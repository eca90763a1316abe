"""The structure of the source: no import cycles, and files of a bounded size."""

import ast
import re
import statistics
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
PAGE = Path(__file__).parents[2] / "web" / "src"
TS_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.{1,2}/[^"']+)["']""")
MAX_LINES = 400


def modules() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted((SOURCE / "callboard").rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports_of(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules that a module imports: at the top, inside functions, and for type checkers only."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" if f"{module}.{alias.name}" in known else module for alias in node.names}
    return (found & known.keys()) - {name}


def test_there_is_no_import_cycle_including_type_checking_imports() -> None:
    known = modules()
    graph = {name: imports_of(name, path, known) for name, path in known.items()}
    lazy = graph.pop("callboard")  # the public face loads its names when they are used
    assert lazy
    assert_no_cycle({name: needed - {"callboard"} for name, needed in graph.items()})


def test_there_is_no_import_cycle_in_the_page_including_type_imports() -> None:
    files = {path.resolve() for path in PAGE.rglob("*.ts")}
    graph = {path: {(path.parent / name).resolve() for name in TS_IMPORT.findall(path.read_text())} for path in files}
    assert sum(map(len, graph.values())) > len(files)
    assert set().union(*graph.values()) <= files, "each import names a file"
    names = {path: str(path.relative_to(PAGE)) for path in files}
    assert_no_cycle({names[path]: {names[each] for each in needed} for path, needed in graph.items()})


def assert_no_cycle(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"an import cycle: {' → '.join(error.args[1])}") from None


def test_files_and_their_median_size_are_bounded() -> None:
    lines = {name: len(path.read_text().splitlines()) for name, path in modules().items()}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}
    own = [lines[name] for name, path in modules().items() if path.name != "__init__.py"]
    assert 90 <= statistics.median(own) <= 170
