"""Markdown that the generated pages share: tables, and texts from docstrings."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

GENERATED = "---\ngenerated: true\n---\n\n"
"""The front matter of a generated page, which has no edit link."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table. A cell may contain any text on one line."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: Any) -> str:
    """Format a text as code, or return an empty text."""
    return f"`{text}`" if str(text) else ""


def attribute_docs(owner: type) -> dict[str, str]:
    """Read the strings below the fields of a class, which Python does not keep."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        target = field.target if isinstance(field, ast.AnnAssign) else None
        if isinstance(field, ast.Assign):
            target = field.targets[0]
        if isinstance(target, ast.Name) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[target.id] = inspect.cleandoc(str(text.value.value))
    return found
