"""The programs for your own agent run as they stand (C1, O4)."""

import asyncio
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/own-agent.md"
EXAMPLE = ROOT / "examples/own_agent.py"

pytestmark = pytest.mark.anyio


async def test_o4_the_program_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    assert found[1].count("\n") <= 60
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "own_agent"}
    exec(compile(found[1], str(PAGE), "exec"), names)
    await asyncio.wait_for(names["main"](), 60)
    approved, first, late = capsys.readouterr().out.splitlines()
    assert approved.startswith("approved: pay")
    assert '"pay":"paid 0 EUR"' in first
    assert "42 pages about a" in late


async def test_o4_the_chat_with_an_own_agent_asks_and_delivers_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in this process, with pipes for its terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPORT_SECONDS", "0.1")
    (stdin, typed), (shown, stdout) = os.pipe(), os.pipe()
    with os.fdopen(stdin) as line_in, os.fdopen(stdout, "w") as line_out, os.fdopen(shown) as screen:
        monkeypatch.setattr(sys, "stdin", line_in)
        monkeypatch.setattr(sys, "stdout", line_out)
        chat = asyncio.ensure_future(runpy.run_path(str(EXAMPLE))["main"]())

        async def read() -> str:
            return (await asyncio.wait_for(asyncio.to_thread(screen.readline), 60)).removesuffix("\n")

        os.write(typed, b"hello\n")
        assert await read() == "hello"
        os.write(typed, b"pay 5\ny\n")
        assert await read() == "May I pay {'amount': '5'}? [y/n] paid 5 EUR"
        os.write(typed, b"report tea\n")
        assert (await read()).startswith("It is running.")
        assert await read() == "42 pages about tea", "it arrived without an input"
        os.close(typed)
        await asyncio.wait_for(chat, 60)


@pytest.mark.slow
def test_o4_the_chat_with_an_own_agent_resumes_after_its_end(tmp_path: Path) -> None:
    with _Chat(tmp_path, seconds="3600") as chat:
        chat.write("report coffee\n")
        assert chat.read().startswith("It is running.")
    with _Chat(tmp_path, seconds="0") as chat:
        assert chat.read() == "42 pages about coffee"


class _Chat:
    """The example as a process. It ends when its input ends."""

    def __init__(self, folder: Path, seconds: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(EXAMPLE)],
            cwd=folder,
            env={"REPORT_SECONDS": seconds, "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def write(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().removesuffix("\n")

    def __enter__(self) -> "_Chat":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate(timeout=60)
        finally:
            self._process.kill()
