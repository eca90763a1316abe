"""The reference of errors: categories of calls, exceptions with their codes, problems of the HTTP API."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

import callboard
from callboard.errors import CATEGORIES, ErrorCategory

from .markdown import GENERATED, ROOT, attribute_docs, code, table
from .problem_codes import problem_codes


class ErrorClass(NamedTuple):
    """A subclass of `CallboardError` in the source."""

    name: str
    module: str
    bases: tuple[str, ...]
    code: str | None
    """Its own code; None: that of its base."""
    meaning: str


def error_classes() -> list[ErrorClass]:
    """Find all subclasses of `CallboardError`, without importing their modules."""
    classes = {each.name: each for each in _classes()}
    found = {"CallboardError"}
    while more := {name for name, each in classes.items() if found & set(each.bases)} - found:
        found |= more
    return [_with_code(classes[name], classes) for name in sorted(found)]


def _with_code(each: ErrorClass, classes: dict[str, ErrorClass]) -> ErrorClass:
    owner = each
    while owner.code is None:
        owner = next(classes[base] for base in owner.bases if base in classes)
    return each._replace(code=owner.code)


def _classes() -> Iterator[ErrorClass]:
    source = ROOT / "src"
    for path in sorted((source / "callboard").rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = tuple(each.id for each in node.bases if isinstance(each, ast.Name))
                meaning = (ast.get_docstring(node) or "").partition("\n\n")[0]
                yield ErrorClass(node.name, module, bases, _code_of(node), meaning)


def _code_of(node: ast.ClassDef) -> str | None:
    for each in node.body:
        match each:
            case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(text))):
                return text
            case _:
                pass
    return None


def page() -> str:
    """Make the page."""
    text = f"{GENERATED}# Errors and their codes\n\n"
    text += "[Errors](../errors.md) explains what models and operators see of each.\n\n"
    text += "## Categories of failed calls\n\n"
    docs = attribute_docs(ErrorCategory)
    rows = [
        (code(each.value), _yes(rule.retryable), _yes(rule.reported), docs[each.name])
        for each, rule in CATEGORIES.items()
    ]
    text += table(("category", "retried by default", "reported to operators", "meaning"), rows)
    text += "## Exceptions\n\nThose with a link can be imported from `callboard`.\n\n"
    text += table(
        ("code", "exception", "meaning"), ((code(each.code), _name(each), each.meaning) for each in error_classes())
    )
    text += "## HTTP problems\n\nThe `code` of a problem document. [The server](../server.md#errors) explains them.\n\n"
    return text + table(("status", "code"), ((str(status), code(name)) for status, name in sorted(problem_codes())))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _name(each: ErrorClass) -> str:
    if each.name in callboard.__all__:
        return f"[`{each.name}`](api/exceptions.md#callboard.{each.name})"
    return code(f"{each.module}.{each.name}")
