"""Every program in `examples/` runs, and shows what it promises (O4)."""

import io
import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from callboard import Runtime, tool
from callboard.testing.providers import AnthropicDouble, Call, Double, OpenAIChatDouble, Turn
from tests.docs.blocks import blocks

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TESTED_ELSEWHERE = {
    "deploy_token": "tests/server/browser/test_deploy_token.py",
    "embedded-chat": "tests/server/browser/test_embedded.py",
    "own_agent.py": "tests/docs/test_own_agent.py",
    "workers.py": "tests/engines/test_worker_process.py",
}
"""Examples with tests of their own, which need a browser, servers or a terminal."""


class Program:
    """Runs an example in an empty folder, and returns the lines that it prints."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._patch = monkeypatch

    def run(self, name: str, *arguments: str, typed: str = "") -> list[str]:
        path = str(EXAMPLES / name)
        self._patch.setattr(sys, "argv", [path, *arguments])
        self._patch.setattr(sys, "stdin", io.StringIO(typed))
        self._capsys.readouterr()
        runpy.run_path(path, run_name="__main__")
        return self._capsys.readouterr().out.splitlines()


@pytest.fixture
def program(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.chdir(tmp_path)
    return Program(capsys, monkeypatch)


def test_o4_first_tool(program: Program) -> None:
    printed = program.run("first_tool.py")
    assert "succeeded ['day 1: sunny in Oslo', 'day 2: sunny in Oslo']" in printed
    assert "failed validation" in printed
    assert printed[-1] == "- town There is no such property. Leave it out."


def test_o4_background_progress(program: Program) -> None:
    printed = program.run("background_progress.py")
    assert printed[0].startswith("started -> It is running.")
    assert [line for line in printed if "reading ledgers" in line] == [
        " 25% reading ledgers: sales",
        " 50% reading ledgers: wages",
        " 75% reading ledgers: rent",
        "100% reading ledgers: travel",
    ]
    assert printed[-2:] == ["succeeded {'quarter': '2026-Q3', 'pages': 42}", "cancelled"]


def test_o4_approval(program: Program) -> None:
    printed = program.run("approval.py", typed="y\n")
    assert printed[0] == "waiting"
    assert "send_payment wants to run with {'to': 'Ada', 'cents': 2500}." in printed
    assert printed[-1].endswith("25.00 EUR went to Ada")
    assert program.run("approval.py", typed="n\n")[-1].endswith("Too expensive.")


def test_o4_approval_is_kept_for_the_next_run(program: Program) -> None:
    with pytest.raises(EOFError):
        program.run("approval.py", typed="")  # left without an answer
    printed = program.run("approval.py", typed="y\n")
    assert "waiting" not in printed, "no second request"
    assert printed[-1].endswith("25.00 EUR went to Ada")


def test_o4_question_with_form(program: Program) -> None:
    printed = program.run("question_with_form.py")
    assert "  street: Street and number" in printed
    assert printed[-1] == "{'street': '3 Rue Cuvier', 'city': 'Paris', 'speed': 'standard'}"


def test_o4_late_result(program: Program) -> None:
    first, second = program.run("late_result.py")
    assert first.startswith("turn 1: build_report is running in the background")
    assert second.startswith("turn 2: ")
    assert second.endswith("The report of 2026-Q3 has 42 pages.")


def test_o4_own_store(program: Program, tmp_path: Path) -> None:
    printed = program.run("own_store.py")
    assert printed[-1] == "alice_1 tool_result 5"
    assert len((tmp_path / "audit.jsonl").read_text().splitlines()) == len(printed)


def test_o4_mcp_gateway(program: Program) -> None:
    printed = program.run("mcp_gateway.py", typed="y\n")
    assert printed[:2] == ["before: {'result': ['draft.txt', 'plan.txt']}", "waiting"]
    assert printed[-1] == "after: {'result': ['plan.txt']}"
    printed = program.run("mcp_gateway.py", typed="n\n")
    assert printed[-2].endswith("Keep it.")
    assert printed[-1] == "after: {'result': ['draft.txt', 'plan.txt']}", "the server did not hear of the call"


def test_o4_servers_of_the_recipe_for_approvals_are_used_as_written(tmp_path: Path) -> None:
    text = (ROOT / "docs/recipes/approve-mcp-tools.md").read_text()
    [servers] = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (tmp_path / "servers.json").write_text(servers.replace('"python"', json.dumps(sys.executable)))
    (tmp_path / "mcp_gateway.py").write_text((EXAMPLES / "mcp_gateway.py").read_text())
    commands = [shlex.split(line) for line in re.findall(r"^ *callboard (tools .*)$", text, re.MULTILINE)]
    main = "from callboard.cli import main; main()"
    listed, deleted = (
        subprocess.run(
            [sys.executable, "-c", main, *command], cwd=tmp_path, input="y\n", capture_output=True, text=True
        )
        for command in commands
    )
    assert "files_list_files" in listed.stdout, listed.stderr
    assert "files_delete_file" in listed.stdout
    assert "draft.txt is deleted" in deleted.stdout, deleted.stderr


def loop(
    program: Program, monkeypatch: pytest.MonkeyPatch, name: str, double: Double, address: str, path: str
) -> list[Any]:
    """Run a plain loop against a double of its provider. Returns the last messages that it sent."""
    double.add(
        Turn("I start it.", Call("build_report", {"quarter": "2026-Q3"}, id="c1"), Call("no_such_tool", {}, id="c2")),
        "It is being built.",
        "It has 42 pages.",
    )
    with double:
        monkeypatch.setenv(address, double.url + path)
        monkeypatch.setenv(address.replace("BASE_URL", "API_KEY"), "none")
        printed = program.run(name)
    assert double.refusals == []
    assert double.left == 0
    assert printed[-2:] == ["model: It is being built.", "model: It has 42 pages."]
    return double.bodies[-1]["messages"]


def test_o4_openai_loop_gives_late_results_back_validly(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = loop(program, monkeypatch, "openai_loop.py", OpenAIChatDouble(), "OPENAI_BASE_URL", "/v1")
    assert [each["role"] for each in messages] == [
        "user", "assistant", "tool", "tool", "assistant", "assistant", "tool",
    ]  # fmt: skip
    assert json.loads(messages[2]["content"])["status"] == "started"
    assert "no_such_tool" in messages[3]["content"]
    assert messages[-1]["content"] == "The report of 2026-Q3 has 42 pages."


def test_o4_anthropic_loop_gives_late_results_back_validly(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = loop(program, monkeypatch, "anthropic_loop.py", AnthropicDouble(), "ANTHROPIC_BASE_URL", "")
    assert [each["role"] for each in messages] == ["user", "assistant", "user", "assistant", "assistant", "user"]
    assert [each["is_error"] for each in messages[2]["content"]] == [False, True]
    assert messages[-1]["content"][0]["content"] == "The report of 2026-Q3 has 42 pages."


def functions_of(name: str) -> dict[str, Any]:
    """Return the functions of an example, or of the program on the page about loops of your own."""
    if not name.endswith(".md"):
        return runpy.run_path(str(EXAMPLES / name))
    names: dict[str, Any] = {"__name__": "recipe"}
    [program] = blocks(ROOT / "docs" / name)
    source = program.code.replace("asyncio.run(main())", "")
    exec(compile(source, name, "exec"), names)
    return names


REPEATED_IDS = ("ids_unique", "one_result_per_call")
"""The rules with which Anthropic refuses repeated ids, which servers with its protocol need not have."""
LOOPS = [
    pytest.param("openai_loop.py", OpenAIChatDouble, (), id="openai"),
    pytest.param("anthropic_loop.py", AnthropicDouble, REPEATED_IDS, id="anthropic"),
    pytest.param("recipes/own-loop.md", OpenAIChatDouble, (), id="recipe"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "kind", "without"), LOOPS)
async def test_o4_loops_run_each_call_of_a_server_that_repeats_ids(
    name: str, kind: type[Double], without: tuple[str, ...]
) -> None:
    bought: list[str] = []

    @tool
    async def get_price(article: Annotated[str, "What to buy"]) -> str:
        """Tell the price of an article."""
        return f"the {article} costs 4 euros"

    @tool
    async def buy(article: Annotated[str, "What to buy"]) -> str:
        """Buy an article."""
        bought.append(article)
        return f"bought {len(bought)} articles"

    lamp = {"article": "lamp"}
    script = [
        Turn(Call("get_price", lamp, id="call_0")),
        Turn(Call("buy", lamp, id="call_0")),
        Turn(Call("buy", lamp, id="call_0")),
        "You have two lamps.",
    ]
    async with kind(script, without=without) as double, Runtime([get_price, buy]) as runtime:
        session = await runtime.open("s", "u")
        async with client_of(double) as client:
            await functions_of(name)["respond"](client, session, [{"role": "user", "content": "Buy two lamps."}])
        assert double.refusals == []
        assert [result_of(body["messages"][-1]) for body in double.bodies[1:]] == [
            "the lamp costs 4 euros",
            "bought 1 articles",
            "bought 2 articles",
        ]
        assert bought == ["lamp", "lamp"]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["openai_loop.py", "anthropic_loop.py", "recipes/own-loop.md"])
async def test_o4_loops_tell_the_model_of_a_call_id_that_was_used_before(name: str) -> None:
    @tool
    async def buy(article: Annotated[str, "What to buy"]) -> str:
        """Buy an article."""
        return f"bought a {article}"

    async with Runtime([buy]) as runtime:
        session = await runtime.open("s", "u")
        await session.call("buy", {"article": "lamp"}, call_id="c1")
        outcome = await session.call("buy", {"article": "desk"}, call_id="c1")
        names = ["c1"] if name == "anthropic_loop.py" else []
        text = str(functions_of(name)["answer"](session, outcome, *names))
        assert "was used before" in text
        assert "bought a lamp" not in text


def client_of(double: Double) -> Any:
    """Return a client of the provider's own SDK."""
    if isinstance(double, AnthropicDouble):
        return AsyncAnthropic(base_url=double.url, api_key="none")
    return AsyncOpenAI(base_url=f"{double.url}/v1", api_key="none")


def result_of(message: Any) -> str:
    """Return the text of the one tool result in a message."""
    if isinstance(message["content"], str):
        return message["content"]
    [block] = message["content"]
    return block["content"]


def test_o4_every_example_is_tested_listed_and_short() -> None:
    source = Path(__file__).read_text()
    index = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.iterdir():
        if path.name in ("README.md", "__pycache__"):
            continue
        assert f"]({path.name}" in index, f"examples/README.md does not list {path.name}"
        if path.is_dir():
            assert path.name in (ROOT / TESTED_ELSEWHERE[path.name]).read_text()
        else:
            assert f'"{path.name}"' in source, f"no test runs {path.name}"
            assert 30 <= len(path.read_text().splitlines()) <= 120, path.name


CONTRACT = """
import runpy
import subprocess

import pytest

from callboard.testing.store_contract import StoreContract

AuditedStore = runpy.run_path({example!r})["AuditedStore"]


class TestAuditedStore(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path):
        store = AuditedStore(f"sqlite:///{{tmp_path}}/audited.db", tmp_path / "audit.jsonl")
        await store.open(lambda *_: None)
        yield store
        await store.close()
"""


@pytest.mark.slow
def test_o4_own_store_passes_the_contract(tmp_path: Path) -> None:
    (tmp_path / "test_store.py").write_text(CONTRACT.format(example=str(EXAMPLES / "own_store.py")))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    done = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
