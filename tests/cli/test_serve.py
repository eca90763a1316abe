"""`callboard serve`: its options, and the tools that it serves (G5, O3)."""

import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callboard import CallboardError, Runtime
from callboard.chat.model import ModelUnavailable, choose_model, compatible_model
from callboard.cli.commands.doctor import Mark, check_model
from callboard.cli.model_keys import check_key
from callboard.cli.process import Exit
from callboard.server import launch
from callboard.testing.providers import OpenAIChatDouble
from callboard.tools.definition import RESERVED_NAMESPACE
from tests.cli.harness import Done, run_here


class Serve:
    """`callboard serve` with everything but the server."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch
        self.options: Any = None
        monkeypatch.setattr(launch, "launch", self._launch)

    def _launch(self, options: Any, listening: Any) -> None:
        self.options = options
        Runtime(options.tools, model="offline")  # adds the tools that manage tasks, as a server does
        listening("http://127.0.0.1:1", False)

    def __call__(self, *arguments: str) -> Done:
        return run_here(self._capsys, self._monkeypatch, *arguments)


@pytest.fixture
def serve(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Serve]:
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield Serve(capsys, monkeypatch)
    root.handlers[:] = handlers  # the command configures the logs of the process
    root.setLevel(level)


def test_g5_instructions_are_text_or_a_file(serve: Serve, tmp_path: Path) -> None:
    assert serve("serve", "--instructions", "Be brief.").code == 0
    assert serve.options.instructions == "Be brief."
    (tmp_path / "prompt.md").write_text("Antworte höflich.\n", encoding="utf-8")
    assert serve("serve", "--instructions", "@prompt.md").code == 0
    assert serve.options.instructions == "Antworte höflich.\n"
    assert serve("serve").code == 0
    assert serve.options.instructions is None


def test_b8_retention_is_an_option_and_a_variable(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    assert serve("serve", "--keep-days", "30", "--keep-events", "5000").code == 0
    assert (serve.options.keep_for, serve.options.keep_events) == (30 * 86_400.0, 5000)
    assert serve("serve").code == 0
    assert (serve.options.keep_for, serve.options.keep_events) == (None, None)
    monkeypatch.setenv("CALLBOARD_KEEP_DAYS", "0.5")
    assert serve("serve").code == 0
    assert serve.options.keep_for == 43_200.0
    done = serve("serve", "--keep-days", "0")
    assert (done.code, "--keep-days" in done.err) == (Exit.USAGE, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--instructions", "@missing.md"], "--instructions @missing.md: the file cannot be read"),
        (["--instructions", "@latin.md"], "--instructions @latin.md is not UTF-8 text: see byte 2."),
        (["--model", "openai:x", "--base-url", "localhost:11434"], "is not the URL of a server. An example: http://"),
        (["--base-url", "http://localhost:11434/v1"], "Name the model that http://localhost:11434/v1 serves"),
    ],
)
def test_g5_a_mistake_in_an_option_is_explained(
    serve: Serve, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "latin.md").write_bytes(b"h\xf6flich")
    done = serve("serve", *arguments)
    assert done.code != 0
    assert message in " ".join(done.err.split())
    assert serve.options is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "--base-url", "http://[s3cret", "--model", "x"], "The base URL cannot be read."),
        (["serve", "--base-url", "ann:s3cret@h", "--model", "x"], "is not the URL of a server."),
        (["tools", "list", "--mcp", "http://[s3cret@h"], "This is not the URL of an MCP server"),
        (["tools", "list", "--mcp", "http://ann:s3cret/x@h"], "This is not the URL of an MCP server"),
        (["mcp", "--store", "postgresql://ann:s3c[ret@h:x/db"], "The address of the PostgreSQL store cannot be read."),
        (["worker", "--engine", "nats://ann:s3cret[@h"], "The address of NATS cannot be read."),
    ],
)
def test_g5_a_wrong_address_is_not_repeated(serve: Serve, arguments: list[str], message: str) -> None:
    done = serve(*arguments)
    assert done.code == Exit.FAILED
    assert message in " ".join(done.err.split())
    assert not any(part in done.err for part in ("ann:", "s3c", "ret@"))


def test_g5_an_address_with_a_bracket_is_shown_without_its_password(serve: Serve) -> None:
    done = serve("serve", "--store", "postgresql://ann:s3c[ret@h:1/db")
    assert done.code == 0
    assert "postgresql://h:1/db" in done.out
    assert "s3c" not in done.out + done.err


def test_g5_the_tools_that_are_listed_are_the_tools_that_are_served(serve: Serve) -> None:
    done = serve("serve")
    served = [tool.name for tool in serve.options.tools if tool.namespace != RESERVED_NAMESPACE]
    assert "task_list" in serve.options.tools.names()
    assert [each["name"] for each in json.loads(serve("tools", "list", "--json").out)] == served
    found = re.search(r"tools +(\d+)", done.out)
    assert found is not None
    assert int(found[1]) == len(served)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["llama3.2:3b", "openai:llama3.2:3b", "ollama:llama3.2:3b"])
async def test_g5_a_base_url_reaches_a_server_that_speaks_openais_protocol(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with OpenAIChatDouble() as double:
        double.add("Hello.")
        model = compatible_model(name, f"{double.url}/v1")
        async with model, Runtime(model=model, instructions="Be brief.") as runtime:
            session = await runtime.open("s", "u")
            assert (await session.say("Hi")).text == "Hello."
        assert double.bodies[0]["model"] == "llama3.2:3b"
        assert "Be brief." in str(double.bodies[0]["messages"][0])


def test_g5_a_base_url_must_be_one() -> None:
    with pytest.raises(ModelUnavailable, match="not the URL of a server"):
        compatible_model("openai:x", "file:///etc/passwd")


def test_g5_doctor_needs_no_api_key_for_a_server_of_your_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert check_model("openai:llama3.2").mark is Mark.PROBLEM
    assert check_model("openai:llama3.2", "http://localhost:11434/v1").mark is Mark.OK
    assert check_model("offline", "http://localhost:11434/v1").mark is Mark.PROBLEM


KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GOOGLE_API_KEY", "GEMINI_API_KEY")


@pytest.fixture
def _without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_without_keys")
def test_c6_a_missing_key_is_found_before_the_server_is_loaded(serve: Serve) -> None:
    done = serve("serve", "--model", "anthropic:claude-sonnet-5-5")
    assert (done.code, serve.options) == (1, None)
    assert done.err == (
        "error: The model 'anthropic:claude-sonnet-5-5' needs an API key: "
        "set the environment variable ANTHROPIC_API_KEY.\n"
    )


@pytest.mark.usefixtures("_without_keys")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Google's SDK
@pytest.mark.parametrize("model", ["anthropic:x", "google:x", "openai:x", "openai-chat:x", "openai-responses:x"])
@pytest.mark.parametrize("key", [None, *KEYS])
def test_c6_the_early_check_of_a_key_agrees_with_the_provider(
    monkeypatch: pytest.MonkeyPatch, model: str, key: str | None
) -> None:
    if key is not None:
        monkeypatch.setenv(key, "http://127.0.0.1:1/v1" if key.endswith("URL") else "x")

    def error_of(check: Callable[[str], object]) -> str | None:
        try:
            check(model)
        except CallboardError as error:
            return str(error)
        return None

    assert error_of(check_key) == error_of(choose_model)


def test_c6_other_models_are_not_checked_early() -> None:
    for model in ("offline", "anthropic", "ollama:llama", "test"):
        check_key(model)
