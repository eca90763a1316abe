"""The problems that the server responds with, found in its source."""

import ast
from collections.abc import Iterator

from callboard.server import problems

from .markdown import ROOT

PLACES = ("server", "protocols")


def problem_codes() -> set[tuple[int, str]]:
    """Return each status and code with which the source makes a problem."""
    trees = [ast.parse(path.read_text()) for name in PLACES for path in (ROOT / "src/callboard" / name).rglob("*.py")]
    found = {pair for tree in trees for node in ast.walk(tree) for pair in _made(node)}
    for node in ast.walk(ast.parse((ROOT / "src/callboard/server/problems.py").read_text())):
        if isinstance(node, ast.match_case):
            found |= set(_translated(node))
    return found


def _made(node: ast.AST) -> Iterator[tuple[int, str]]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        return
    given = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
    match node.func.id, given:
        case ("Problem" | "_problem", [int(status), str(code)]):
            yield status, code
        case ("_unauthorized", [str(code), *_]):
            yield 401, code
        case ("not_found", [str(what)]):
            yield 404, f"{what}_not_found"
        case ("_answer", [bytes(status), bytes(code)]):
            yield int(status[:3]), code.decode()
        case _:
            pass


def _translated(case: ast.match_case) -> Iterator[tuple[int, str]]:
    """Yield the codes of errors that a match case translates, with its status."""
    classes = [
        each.cls.id
        for each in ast.walk(case.pattern)
        if isinstance(each, ast.MatchClass) and isinstance(each.cls, ast.Name)
    ]
    for node in ast.walk(case):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Problem":
            status, code = node.args[:2]
            assert isinstance(status, ast.Constant)
            if isinstance(code, ast.Attribute):
                yield from ((int(str(status.value)), getattr(problems, name).code) for name in classes)
            elif isinstance(code, ast.JoinedStr) and isinstance(code.values[0], ast.Constant):
                yield int(str(status.value)), f"{code.values[0].value}…"
