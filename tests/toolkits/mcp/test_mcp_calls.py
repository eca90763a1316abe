"""Calls of the tools of a real MCP server, over each transport and in both eras."""

import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callboard import RegistrationError, mcp_toolset
from tests.toolkits.mcp.sample_server import PNG
from tests.toolkits.mcp.stage import both_eras, every_kind, is_running, stage, until

pytestmark = pytest.mark.anyio


@both_eras
async def test_h4_tools_of_a_server_are_tools_under_a_namespace(kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path) as made:
        names = {tool.name for tool in made.runtime.registry.by_namespace("sample")}
        assert {"sample_add", "sample_content", "sample_text_of-all"} <= names
        assert "sample_broken" not in names
        assert "banana" in made.toolset.skipped["broken"]
        add, content = made.runtime.registry["sample_add"], made.runtime.registry["sample_content"]
        assert add.output_schema is not None
        assert add.output_schema["required"] == ["sum"]
        assert add.input_schema["properties"]["a"] == {"type": "number", "description": "a"}
        assert content.title == content.description == "All kinds of content"
        outcome = await made.call("add", a=1, b=2)
        assert outcome.value == {"sum": 3}
        assert (await made.call("content", how="texts")).value == "one\n\ntwo"
        assert (await made.call("add", a=1)).error.category == "validation"
        assert made.count("add") == 1  # arguments that do not fit are not sent


@both_eras
async def test_h4_images_audio_files_and_links_are_content(kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path) as made:
        outcome = await made.call("content", how="all")
        text, image, audio, link, file = outcome.value
        assert text == {"type": "text", "text": "see:"}
        assert image == {"type": "image", "mimeType": "image/png", "data": PNG}
        assert audio["type"] == "audio"
        assert link["uri"] == "https://a.example/readme"
        assert file["resource"]["text"] == "inside"
        shown = made.session.result_text(outcome.execution_id)
        assert "(image, image/png, 72 bytes; shown to the user)" in shown
        assert "https://a.example/readme" in shown
        assert "inside" in shown
        assert PNG not in shown


@every_kind
async def test_h4_errors_of_a_tool_and_of_the_protocol_are_tool_errors(kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path) as made:
        outcome = await made.call("fail", how="tool")
        assert (outcome.error.category, outcome.error.message) == ("execution", "The shop is closed.")
        outcome = await made.call("fail", how="protocol")
        assert outcome.error.message.startswith("The MCP server sample refused the call: ")
        assert "Traceback" not in outcome.error.message


@both_eras
async def test_h4_progress_is_reported(kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path) as made:
        await made.call("steps")
        events = [event.data for event in made.session.board.read(0) if event.kind == "tool_progress"]
        assert [(each["fraction"], each["message"]) for each in events] == [
            (0.0, "step 0"),
            (0.5, "step 1"),
            (1.0, "step 2"),
        ]


@both_eras
async def test_h4_cancelling_a_call_cancels_the_request(kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path) as made:
        call = asyncio.ensure_future(made.session.call("sample_hang", {}, call_id="c1"))
        await until((tmp_path / "hanging").exists)
        assert await made.session.cancel_call("c1")
        error = (await call).error
        assert error is not None
        assert error.category == "cancelled"
        await until((tmp_path / "cancelled").exists)
        assert (await made.call("add", a=1, b=2)).value == {"sum": 3}  # the connection is still in use


@every_kind
async def test_h4_a_call_without_an_answer_times_out(kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path, timeout=2.0) as made:
        outcome = await made.call("hang")
        assert outcome.error.category == "timeout"
        assert "2 seconds" in outcome.error.message
        await until((tmp_path / "cancelled").exists)
        assert (await made.call("add", a=1, b=2)).value == {"sum": 3}


@both_eras
async def test_h4_changes_of_the_list_are_followed(kind: str, tmp_path: Path) -> None:
    async with stage(kind, tmp_path) as made:
        before = made.runtime.registry["sample_add"]
        assert "sample_new" not in made.runtime.registry
        await made.call("change", how="new")
        await until(lambda: "sample_new" in made.runtime.registry)
        assert made.runtime.registry["sample_add"] is before
        assert (await made.call("new")).value.startswith("user")


async def test_h4_headers_and_tokens_reach_the_server(tmp_path: Path) -> None:
    async with stage("http legacy", tmp_path, headers={"x-who": "ann"}, token="secret") as made:
        assert (await made.call("text.of-all".replace(".", "_"))).value == "user , ann"
        assert "secret" not in repr(vars(made.toolset._connection))


@pytest.mark.slow
async def test_h4_a_server_gets_variables_and_its_standard_error_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "callboard.mcp.sample")
    async with stage("stdio legacy", tmp_path, env={"WHO": "bob"}) as made:
        assert (await made.call("text_of-all")).value == "user bob, "
        await until(lambda: "starting" in caplog.text)
    assert [each.levelname for each in caplog.records if each.message == "starting"] == ["INFO"]


async def test_h4_a_choice_of_tools_another_prefix_and_a_limit(tmp_path: Path) -> None:
    options: dict[str, Any] = {"only": ["add", "fail"], "prefix": "x-", "concurrency": 3}
    async with stage("http 2026-07-28", tmp_path, **options) as made:
        assert made.runtime.registry.names() == ("x-add", "x-fail")
        assert made.runtime.registry["x-add"].concurrency == 3


async def test_h4_the_process_ends_with_the_toolset(tmp_path: Path) -> None:
    async with stage("stdio legacy", tmp_path) as made:
        pid = int((tmp_path / "pid").read_text())
        assert is_running(pid)
        call = asyncio.create_task(made.call("hang"))
        await until((tmp_path / "hanging").exists)
    call.cancel()
    assert not is_running(pid)


@pytest.mark.parametrize(
    ("server", "options", "problem"),
    [
        ("", {}, "empty"),
        ("a 'b", {}, "cannot be read"),
        ("http://", {}, "URL"),
        ({}, {}, "either a command or a url"),
        ({"command": "a", "url": "http://a"}, {}, "either a command or a url"),
        ({"command": "a", "args": "b"}, {}, "list of strings"),
        ({"url": "http://a", "type": "carrier-pigeon"}, {}, "carrier-pigeon"),
        ({"url": "http://a", "headers": {"a": "${NOT_SET_ANYWHERE}"}}, {}, "NOT_SET_ANYWHERE"),
        ({"command": "a", "autoApprove": []}, {}, "autoApprove"),
        ("http://a", {"cwd": "/"}, "command"),
        ("a", {"token": "t"}, "URL"),
        ("http://a", {"token": "a\nb"}, "authorization"),
        ("a", {"timeout": 0}, "timeout"),
    ],
)
def test_h4_an_address_that_cannot_be_used_is_refused(server: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(RegistrationError, match=problem):
        mcp_toolset(server, **options)


def test_h4_importing_callboard_does_not_import_the_sdk() -> None:
    code = "import sys, callboard; callboard.Runtime, callboard.tool; print('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
