"""The signatures of all public names, compared with a golden file, so that no change of them goes unnoticed.

Public are the names of `callboard` and those of the modules that the reference lists. `--update-golden` accepts a
change; it is a promise to users, so look at it first.
"""

import ast
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import griffe

import callboard
from scripts.docsite.api_reference import ONLY_DOCUMENTED, OTHER_MODULES
from tests.docs.blocks import PAGES, ROOT, blocks

Golden = Callable[[str, Any], None]

PUBLIC: dict[str, tuple[str, ...]] = {"callboard": tuple(callboard.__all__), **OTHER_MODULES}
SPECIAL = ("__init__", "__call__", "__aenter__", "__aiter__", "__anext__", "__iter__", "__len__", "__contains__")
"""Special methods that users call by syntax."""
LITERAL = "'\"0123456789"


def described(package: Any, module: str, name: str) -> Any:
    """Describe a public name: a signature, or the members of a class."""
    found = package[f"{module}.{name}".removeprefix("callboard.")]
    return dict(members(found, name)) if found.is_class else signature(found)


def members(found: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the public members of a class, also inherited ones, with their signatures."""
    for each, member in sorted(found.all_members.items()):
        is_documented = member.has_docstring or name not in ONLY_DOCUMENTED
        if each in SPECIAL or (not each.startswith("_") and is_documented):
            yield each, signature(member)


def signature(found: Any) -> str:
    if found.is_function:
        prefix = "async " if "async" in found.labels else ""
        return f"{prefix}{found.signature(return_type=True)}"
    if found.is_attribute:
        kind = "property " if "property" in found.labels else ""
        value = str(found.value)  # codes and members of enumerations are promises
        return f"{kind}{found.annotation or (value if value[0] in LITERAL else 'attribute')}"
    return found.kind.value


def test_signatures_of_public_names_are_those_of_the_golden_file(golden: Golden) -> None:
    package = griffe.load("callboard", search_paths=[str(ROOT / "src")], resolve_aliases=True)
    found = {module: {each: described(package, module, each) for each in sorted(PUBLIC[module])} for module in PUBLIC}
    options = described(package, "callboard.tools.function", "Options")
    golden("public_api.json", {**found, "options of callboard.tool": options})


def test_names_for_type_checkers_are_those_of_the_package() -> None:
    """The two lists in `callboard/__init__.py`: one that is loaded when it is used, and one that tools read."""
    tree = ast.parse((ROOT / "src/callboard/__init__.py").read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        (node.module, each.name) for node in block.body if isinstance(node, ast.ImportFrom) for each in node.names
    }
    assert {name for _, name in imported} == set(callboard.__all__)
    for module, name in imported:
        assert getattr(import_module(f"callboard.{module}"), name) is getattr(callboard, name)


def imports(source: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "callboard":
            yield from ((node.module or "", each.name) for each in node.names)


def is_module(name: str) -> bool:
    return find_spec(name) is not None


def test_names_that_programs_of_the_documentation_import_are_public() -> None:
    """A public name, or a module, whose names the reference lists or which its own page describes."""
    programs = [(page, block.source) for page in PAGES for block in blocks(page)]
    programs += [(path, path.read_text()) for path in sorted((ROOT / "examples").rglob("*.py"))]
    unknown: set[tuple[Path, str, str]] = set()
    for path, source in programs:
        for module, name in imports(source):
            if name not in PUBLIC.get(module, ()) and not is_module(f"{module}.{name}"):
                unknown.add((path.relative_to(ROOT), module, name))
    assert unknown == set()
