"""The register of requirements: every number has its sentence, and every finished one the tests that prove it."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
REGISTER: list[dict[str, Any]] = tomllib.loads((ROOT / "tests" / "requirements.toml").read_text())["requirement"]
NUMBER = re.compile(r"[A-Z]\d{1,2}")


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_entry_has_a_number_and_a_sentence() -> None:
    numbers = [entry["number"] for entry in REGISTER]
    assert len(set(numbers)) == len(numbers)
    for entry in REGISTER:
        assert NUMBER.fullmatch(entry["number"]), entry
        assert entry["sentence"].endswith("."), entry
        assert set(entry) <= {"number", "sentence", "finished", "tests"}, entry


def test_every_finished_requirement_has_tests() -> None:
    assert [entry["number"] for entry in REGISTER if entry["finished"] and not entry.get("tests")] == []


def test_every_listed_test_exists() -> None:
    for entry in REGISTER:
        for test in entry.get("tests", ()):
            file, _, name = test.partition("::")
            assert name.startswith("test_"), test
            assert name in functions(file), f"{entry['number']} lists {test}, which does not exist"


def test_every_number_in_a_tests_name_is_in_the_register() -> None:
    known = {entry["number"].lower() for entry in REGISTER}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in functions(str(file.relative_to(ROOT))):
            if found := re.match(r"test_([a-z]\d{1,2})_", name):
                assert found.group(1) in known, f"{file.name}::{name}"
