"""SIGKILL at every point of a conversation, and a restart: nothing is lost, and nothing is done twice (C5, E5)."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


def _kill(store: str, folder: Path, first: int, stride: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.chat.killing", store, str(folder), str(first), str(stride)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder, env=environment)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def _check(found: dict[str, Any]) -> None:
    assert found["exit"] == 0, found
    assert found["problems"] == [], found
    assert found["inputs"] == ["work", "pay"], found
    assert not found["pending"], found
    results = found["results"]
    for tool, done in (("charge", "charged"), ("pay", "paid")):
        assert found["runs"].count(tool) <= 1, found  # never a silent second run
        told = [results[tool], *found["late"]]
        interrupted = any(isinstance(each, dict) and each.get("category") == "interrupted" for each in told)
        assert interrupted or (done in told and found["runs"].count(tool) == 1), found
    assert set(found["runs"]) >= {"measure", "index"}, found
    assert "measured" in [results["measure"], *found["late"]], found
    assert [results["index"], *found["late"]].count("indexed") == 1, found  # delivered once
    assert sorted(tool for tool, _ in found["history"]) == ["charge", "index", "measure", "pay"], found


def test_c5_a_conversation_continues_after_a_kill_at_any_point(store: str, tmp_path: Path) -> None:
    found = _kill(store, tmp_path, random.randint(1, 14), 14)
    assert len(found) > 3
    assert not found[-1]["killed"]
    for each in found:
        _check(each)


@pytest.mark.slow
def test_c5_a_conversation_continues_after_a_kill_at_every_point(store: str, tmp_path: Path) -> None:
    found = _kill(store, tmp_path, 1, 1)
    assert len(found) > 50
    for each in found:
        _check(each)
