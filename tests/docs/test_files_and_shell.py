"""The example of `docs/toolkits/files-and-shell.md` withstands attacks on its folder and its commands (K4)."""

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from callboard import Outcome, Runtime, Session
from tests.docs.blocks import ROOT, blocks

pytestmark = pytest.mark.anyio

PAGE = ROOT / "docs/toolkits/files-and-shell.md"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the program on the page, with a secret beside its folder."""
    (tmp_path / "secret.txt").write_text("s3cret")
    monkeypatch.chdir(tmp_path)
    [block] = blocks(PAGE)
    names: dict[str, Any] = {"__name__": "docs_files"}
    exec(compile(block.code, str(PAGE), "exec"), names)
    (tmp_path / "workspace" / "a.txt").write_text("one\ntwo\n--file=x\n")
    return names


@pytest.fixture
def workspace(example: dict[str, Any], tmp_path: Path) -> Path:
    return tmp_path / "workspace"


async def call(example: dict[str, Any], name: str, **arguments: Any) -> Outcome:
    """Call a tool, and approve the call if it waits for that."""
    tools = [example[each] for each in ("read_file", "write_file", "run_command")]
    async with asyncio.timeout(30), Runtime(tools) as runtime:
        session: Session = await runtime.open("s", "ann")
        outcome = await session.call(name, arguments)
        if outcome.status != "waiting":
            return outcome
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        return await session.result(outcome.execution_id, timeout=90)


async def refused(example: dict[str, Any], name: str, **arguments: Any) -> str:
    outcome = await call(example, name, **arguments)
    assert outcome.error is not None, outcome.value
    message = f"{outcome.error.to_model()}"
    assert "s3cret" not in message
    assert str(Path.cwd()) not in message
    return str(outcome.error.category)


async def test_k4_the_program_runs(example: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    await example["main"]()
    printed = capsys.readouterr().out
    assert printed.startswith("12 bytes were written.\nHello\nworld\n\n")
    assert "inside the folder" in printed


OUTSIDE = [
    "../secret.txt",
    "x/../../secret.txt",
    "./../secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "~/secret.txt/..",
    "..",
    ".",
    "a.txt/",
    "a//b",
    "a\0b",
    "/".join("a" * 30),
]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("name", ["read_file", "write_file", "run_command"])
async def test_k4_paths_that_lead_out_are_refused(
    example: dict[str, Any], tmp_path: Path, name: str, path: str
) -> None:
    more = {"write_file": {"text": "x"}, "run_command": {"command": "count_lines"}}.get(name, {})
    assert await refused(example, name, path=path, **more) == "validation"
    assert (tmp_path / "secret.txt").read_text() == "s3cret"


async def test_k4_links_are_not_followed(example: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    (workspace / "link.txt").symlink_to(tmp_path / "secret.txt")
    (workspace / "out").symlink_to(tmp_path)
    os.link(tmp_path / "secret.txt", workspace / "hard.txt")
    for path in ("link.txt", "out/secret.txt", "hard.txt"):
        assert await refused(example, "read_file", path=path) == "permission"
        assert await refused(example, "run_command", command="find_text", text="s", path=path) == "permission"
    assert await refused(example, "write_file", path="out/secret.txt", text="x") == "permission"
    for path in ("link.txt", "hard.txt"):
        assert (await call(example, "write_file", path=path, text="mine")).status == "succeeded"
        assert (workspace / path).read_text() == "mine", "the link was replaced"
    assert (tmp_path / "secret.txt").read_text() == "s3cret"


async def test_k4_a_link_that_is_swapped_in_shows_nothing_of_outside(
    example: dict[str, Any], workspace: Path, tmp_path: Path
) -> None:
    """Another process exchanges a folder and a link to the outside as fast as it can."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("s3cret")
    (workspace / "real").mkdir()
    (workspace / "real" / "a.txt").write_text("harmless")
    (workspace / "spare").symlink_to(tmp_path / "other")
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            os.rename(workspace / "real", workspace / "aside")
            os.rename(workspace / "spare", workspace / "real")
            os.rename(workspace / "real", workspace / "spare")
            os.rename(workspace / "aside", workspace / "real")

    swapping = threading.Thread(target=swap)
    swapping.start()
    folder = example["folder"]
    seen = {"harmless": 0, "refused": 0}
    try:
        deadline = time.monotonic() + 20
        while min(seen.values()) < 20 and time.monotonic() < deadline:
            try:
                with folder.open("real/a.txt") as file:
                    text = os.read(file, 100).decode()
            except example["ToolError"]:
                text = "refused"
            seen[text] += 1
    finally:
        ended.set()
        swapping.join()
    assert min(seen.values()) > 0, "another text would not have been counted"


async def test_k4_large_files_pipes_and_devices_are_refused(example: dict[str, Any], workspace: Path) -> None:
    with (workspace / "huge").open("wb") as file:
        file.truncate(10 << 30)
    os.mkfifo(workspace / "pipe")
    (workspace / "folder").mkdir()
    assert await refused(example, "read_file", path="huge") == "resource"
    assert await refused(example, "read_file", path="pipe") == "permission"
    assert await refused(example, "read_file", path="folder") == "permission"
    assert await refused(example, "read_file", path="none.txt") == "not_found"
    assert await refused(example, "write_file", path="b.txt", text="ä" * 60_000) == "resource"
    assert await refused(example, "write_file", path="b.txt", text="a" * 100_001) == "validation"
    assert sorted(os.listdir(workspace)) == ["a.txt", "folder", "huge", "pipe"]


async def test_k4_arguments_cannot_become_options_or_commands(example: dict[str, Any], workspace: Path) -> None:
    async def lines(text: str) -> str:
        return (await call(example, "run_command", command="find_text", path="a.txt", text=text)).value

    assert await lines("two") == "2:two\n"
    assert await lines("--file=x") == "3:--file=x\n"
    for text in ("--file=/etc/passwd", "-f/etc/passwd", "-r", "; id", "$(id)", "`id`", "| id", "--help"):
        assert await lines(text) == ""
    assert (await call(example, "run_command", command="count_lines", path="a.txt")).value.strip() == "3"
    for command in ("sh", "rm", "count_lines; id", "/bin/sh"):
        assert await refused(example, "run_command", command=command, path="a.txt") == "validation"
    assert await refused(example, "run_command", command="find_text", path="a.txt", text="\0") == "validation"
    (workspace / "-rf").write_text("x")
    assert (await call(example, "read_file", path="-rf")).value == "x"
    assert (await call(example, "run_command", command="checksum", path="-rf")).value.endswith("  -\n")


async def test_k4_nothing_is_written_or_run_before_a_person_agrees(example: dict[str, Any], workspace: Path) -> None:
    async with Runtime([example["write_file"], example["run_command"]]) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("write_file", {"path": "b.txt", "text": "x"})
        assert outcome.status == "waiting"
        assert not (workspace / "b.txt").exists()
        [request] = await session.requests()
        await session.answer(request.id, {"approved": False})
        assert (await session.result(outcome.execution_id, timeout=90)).error is not None
        assert not (workspace / "b.txt").exists()
        assert (await session.call("run_command", {"command": "checksum", "path": "a.txt"})).status == "waiting"


async def test_k4_a_command_has_no_environment_and_is_limited_in_output_and_time(
    example: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "s3cret")
    run, program = example["run"], example["program"]
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        assert "s3cret" not in await run([program("env")], nothing)
        endless = await run([program("yes")], nothing)
        assert endless.endswith("… (cut)")
        assert len(endless) < 20_100
        example["SECONDS"] = 0.2
        with pytest.raises(example["ToolError"], match="took more than") as caught:
            await run([program("sh"), "-c", "sleep 1000 & wait"], nothing)
        assert caught.value.category == "timeout"
    finally:
        os.close(nothing)
