"""`callboard tools` for users and scripts (G5): output and exit codes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from callboard.cli import main
from callboard.cli.options import repeat_options
from callboard.schemas.dialects import DIALECTS
from tests.cli.harness import Done, run_here

MODULE = '''
from typing import Annotated
from callboard import Registry, tool

@tool(namespace="files", group="io", tags=("read",), gate="beta")
async def read_file(path: Annotated[str, "Which [file] to read"]) -> str:
    """Read a [bold]file[/bold].

    All of it."""
    return path

@tool(mode="background")
async def count(a: Annotated[int, "Ä"]) -> int:
    """Zählen — 数."""
    return a

async def plain(a: Annotated[int, "A number"]) -> int:
    """Be a function without a decorator."""
    return a

registry = Registry([read_file, count])
several = [read_file, count]
mixed = [count, plain]
functions = (plain,)
twice = [count, tool(name="count", description="Count again.")(plain)]
number = 5
empty = []
nothing = Registry()
'''


Command = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cli_sample.py").write_text(MODULE)
    (tmp_path / "cli_broken.py").write_text("1 / 0")
    (tmp_path / "cli_syntax.py").write_text("def (")
    (tmp_path / "cli_needs.py").write_text("import surely_not_installed")
    (tmp_path / "cli_bad_tool.py").write_text(
        "from callboard import Registry, tool\n@tool\ndef f(a) -> None:\n    '''F.'''\nregistry = Registry([f])\n"
    )
    (tmp_path / "cli_relative.py").write_text("from .cli_sample import registry")
    (tmp_path / "cli_caller.py").write_text("import json\n\njson.loads('{')")
    (tmp_path / "cli_package").mkdir()
    (tmp_path / "cli_package" / "__init__.py").write_text("")
    (tmp_path / "cli_package" / "tools.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith("cli_")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return partial(run_here, capsys, monkeypatch)


# Output


def test_g5_list_is_a_table(run: Command) -> None:
    done = run("tools", "list")
    assert (done.code, done.err) == (0, "")
    header, *rows = [line.split() for line in done.out.splitlines()]
    assert header[:4] == ["tool", "namespace", "mode", "description"]
    assert {row[0]: row[1:3] for row in rows}["get_current_time"] == ["time", "inline"]
    assert {row[0] for row in rows} >= {"get_current_time", "convert_time", "think", "http_fetch"}


def test_g5_list_shows_markup_as_text_and_says_what_is_hidden(run: Command) -> None:
    done = run("tools", "list", "--tools", "cli_sample:registry")
    assert done.code == 0
    assert "Read a [bold]file[/bold]. (hidden: beta is off)" in done.out
    assert "All of it" not in done.out


def test_g5_a_gate_in_the_environment_is_honoured(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_GATE_BETA", "1")
    assert "hidden" not in run("tools", "list", "--tools", "cli_sample:registry").out


def test_g5_list_for_a_program_has_one_line_per_tool(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    done = run("tools", "list", "--tools", "cli_sample:registry")
    assert done.out.splitlines() == [
        "tool       namespace  mode        description",
        "read_file  files      inline      Read a [bold]file[/bold]. (hidden: beta is off)",
        "count      default    background  Zählen — 数.",
    ]


def test_g5_list_as_json(run: Command) -> None:
    done = run("tools", "list", "--tools", "cli_sample:registry", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == [
        {
            "name": "read_file",
            "namespace": "files",
            "mode": "inline",
            "placement": None,
            "queue": None,
            "description": "Read a [bold]file[/bold].\n\nAll of it.",
        },
        {
            "name": "count",
            "namespace": "default",
            "mode": "background",
            "placement": None,
            "queue": None,
            "description": "Zählen — 数.",
        },
    ]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--namespace", "files"], ["read_file"]),
        (["--tag", "read"], ["read_file"]),
        (["--namespace", "default", "--tag", "read"], []),
        (["--namespace", "nowhere"], []),
        ([], ["read_file", "count"]),
    ],
)
def test_g5_list_is_filtered(run: Command, options: list[str], names: list[str]) -> None:
    done = run("tools", "list", "--tools", "cli_sample:registry", "--json", *options)
    assert [each["name"] for each in json.loads(done.out)] == names


def test_g5_an_empty_list_says_so(run: Command) -> None:
    assert run("tools", "list", "--tools", "cli_sample:nothing") == (0, "No tools.\n", "")
    assert run("tools", "list", "--tools", "cli_sample:nothing", "--json") == (0, "[]\n", "")


@pytest.mark.parametrize("source", ["cli_sample:registry", "cli_sample:several", "cli_package.tools:registry"])
def test_g5_registries_lists_and_packages_are_loaded(run: Command, source: str) -> None:
    done = run("tools", "list", "--tools", source, "--json")
    assert [each["name"] for each in json.loads(done.out)] == ["read_file", "count"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("cli_sample:mixed", ["count", "plain"]),
        ("cli_sample:functions", ["plain"]),
        ("cli_sample:plain", ["plain"]),
    ],
)
def test_g5_functions_become_tools(run: Command, source: str, names: list[str]) -> None:
    done = run("tools", "list", "--tools", source, "--json")
    assert [each["name"] for each in json.loads(done.out)] == names


def test_g5_printed_output_of_a_module_is_not_the_result(run: Command, folder: Path) -> None:
    (folder / "cli_loud.py").write_text("print('loud')\n" + MODULE)
    done = run("tools", "list", "--tools", "cli_loud:nothing", "--json")
    assert done == (0, "[]\n", "loud\n")


def test_g5_a_single_tool_is_loaded(run: Command) -> None:
    done = run("tools", "list", "--tools", "cli_sample:count", "--json")
    assert [each["name"] for each in json.loads(done.out)] == ["count"]


def test_g5_loading_leaves_the_search_path_as_it_was(run: Command) -> None:
    before = list(sys.path)
    run("tools", "list", "--tools", "cli_sample:count")
    run("tools", "list", "--tools", "cli_broken:count")
    assert sys.path == before


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_g5_a_schema_in_every_dialect(run: Command, dialect: str) -> None:
    from callboard.toolkits.time import convert_time

    done = run("tools", "schema", "convert_time", "--dialect", dialect)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == convert_time.schema(dialect)
    assert run("tools", "schema", "convert_time", "--json", "--dialect", dialect).out == done.out


def test_g5_the_default_dialect_is_claude(run: Command) -> None:
    assert json.loads(run("tools", "schema", "think").out).keys() == {"name", "description", "input_schema"}


def test_g5_the_manifest(run: Command) -> None:
    done = run("tools", "manifest", "--tools", "cli_sample:registry")
    shown = json.loads(done.out)
    assert (done.code, done.err, shown["version"]) == (0, "", 1)
    assert [each["name"] for each in shown["tools"]] == ["read_file", "count"]
    assert shown["tools"][0]["gate"] == {"name": "beta", "open": False}
    assert "schemas" not in shown["tools"][0]
    assert run("tools", "manifest", "--tools", "cli_sample:registry", "--json").out == done.out
    both = json.loads(run("tools", "manifest", "--dialect", "mcp", "--dialect", "gemini").out)
    assert set(both["tools"][0]["schemas"]) == {"mcp", "gemini"}


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["schema", "get_curent_time"], "There is no tool 'get_curent_time'. Did you mean get_current_time"),
        (["schema", "qqqqqq"], "There is no tool 'qqqqqq'. See: callboard tools list"),
        (["schema", "[red]x[/red]"], "There is no tool '[red]x[/red]'."),
        (["schema", "think", "--dialect", "latin"], "There is no dialect 'latin'. Dialects: claude"),
        (["manifest", "--dialect", "latin"], "There is no dialect 'latin'"),
        (
            ["schema", "qqqqqq", "--tools", "cli_sample:several"],
            "There is no tool 'qqqqqq'. See: callboard tools list --tools cli_sample:several",
        ),
        (
            ["list", "--tools", "cli_sample"],
            "--tools 'cli_sample' is not of the form MODULE:NAME, such as cli_sample:tools.",
        ),
        (["list", "--tools", "./cli_sample.py:several"], "takes a module, not a file: --tools cli_sample:several"),
        (["list", "--tools", "cli_sample.py:several"], "takes a module, not a file: --tools cli_sample:several"),
        (["list", "--tools", "cli_sample.py"], "takes a module, not a file: --tools cli_sample:tools"),
        (["list", "--tools", "cli_package/tools:several"], "a file: --tools cli_package.tools:several"),
        (["list", "--tools", "../a/b.py:several"], "a file: cd ../a, then --tools b:several"),
        (["list", "--tools", ":registry"], "is not of the form"),
        (["list", "--tools", "cli_sample:"], "is not of the form"),
        (["list", "--tools", ""], "is not of the form"),
        (["list", "--tools", "cli_nowhere:registry"], "There is no module 'cli_nowhere' here"),
        (["list", "--tools", "cli_package.nowhere:registry"], "There is no module 'cli_package.nowhere'"),
        (
            ["list", "--tools", "cli_needs:registry"],
            "needs the module 'surely_not_installed', which is not installed (cli_needs.py, line 1).",
        ),
        (["list", "--tools", "cli_sample:missing"], "The module 'cli_sample' has no 'missing'."),
        (
            ["list", "--tools", "cli_sample:number"],
            "cli_sample:number is of type int. Name a Registry, a Tool or",
        ),
        (["list", "--tools", "cli_sample:empty"], "cli_sample:empty is an empty list. Add tools to it."),
        (["list", "--tools", "cli_sample:twice"], "A tool 'count' is already registered, in namespace 'default'."),
        (
            ["list", "--tools", "cli_broken:registry"],
            "cli_broken cannot be imported: ZeroDivisionError: division by zero (cli_broken.py, line 1)\n",
        ),
        (["list", "--tools", "cli_caller:registry"], "(cli_caller.py, line 3)\n"),
        (
            ["list", "--tools", "cli_syntax:registry"],
            "cli_syntax cannot be imported: SyntaxError: invalid syntax (cli_syntax.py, line 1)\n",
        ),
        (
            ["list", "--tools", "cli_bad_tool:registry"],
            "'a' of the tool f has no type. Annotate it, such as a: Annotated[str, \"What it is\"]. "
            "(cli_bad_tool.py, line 2)\n",
        ),
        (
            ["list", "--tools", "cli_relative:registry"],
            "(cli_relative.py, line 1). The module is not part of a package: import without the dot, or",
        ),
        (["list", "--tools", ".relative:registry"], "is not of the form MODULE:NAME, such as relative:registry."),
    ],
)
def test_g5_an_error_is_one_sentence_on_standard_error(run: Command, arguments: list[str], message: str) -> None:
    done = run("tools", *arguments)
    assert (done.code, done.out) == (4 if "There is no tool" in message else 1, "")
    assert done.err.startswith("error: ")
    assert message in done.err


def test_g5_a_module_that_another_one_hides_is_explained(run: Command, folder: Path) -> None:
    (folder / "json.py").write_text(MODULE)
    (folder / "rich").mkdir()
    done = run("tools", "list", "--tools", "json:registry")
    assert done.err == (
        "error: The module 'json' has no 'registry'. "
        "Python imports json from the standard library, not the file json.py from here: rename the file.\n"
    )
    done = run("tools", "list", "--tools", "rich.mine:registry")
    assert done.err.endswith(
        "Python imports rich from an installed package, not the folder rich from here: rename the folder.\n"
    )


def test_g5_a_suggested_command_repeats_the_options() -> None:
    assert repeat_options(None) == ""
    options = repeat_options("shop:tools", ["http://a", "npx -y b"], ["c.json"])
    assert options == " --tools shop:tools --mcp http://a --mcp 'npx -y b' --mcp-config c.json"


@pytest.mark.parametrize("command", ["run", "schema"])
def test_g5_the_usage_names_the_tool(run: Command, command: str) -> None:
    assert re.search(r"\bTOOL\b", run("tools", command, "--help").out.partition("\n\n")[0])


def test_g5_a_bad_setting_is_an_error(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_MAX_THREADS", "many")
    done = run("tools", "list")
    assert (done.code, done.out) == (1, "")
    assert "CALLBOARD_MAX_THREADS is 'many'" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["tools", "nonsense"],
        ["tools", "list", "--nonsense"],
        ["tools", "schema"],
        ["tools", "list", "extra"],
        [],
        ["tools"],
    ],
)
def test_an_invalid_command_line_exits_with_two(run: Command, arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert "Usage" in done.out + done.err


def test_an_option_without_its_value_exits_with_two(run: Command) -> None:
    done = run("tools", "list", "--tools")
    assert (done.code, done.out) == (2, "")
    assert "'--tools' requires an argument" in done.err


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["tools", "--help"], ["tools", "schema", "-h"]])
def test_help_exits_with_zero(run: Command, arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.code == 0
    assert "Usage" in done.out


def test_the_version(run: Command) -> None:
    import callboard

    assert run("--version") == (0, f"callboard {callboard.__version__}\n", "")


def test_an_interrupt_exits_with_130(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(address: str | None, *, demo: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("callboard.cli.commands.tools.load_served_registry", interrupted)
    done = run("tools", "list")
    assert (done.code, done.out) == (130, "")


def test_main_ends_with_the_exit_code(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["callboard", "tools", "schema", "nope"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 4


# As a process


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from callboard.cli import main; main()", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, "FORCE_COLOR": "", **environment},
    )


def test_g5_output_to_a_pipe_is_plain_json(folder: Path) -> None:
    done = process("tools", "manifest", "--tools", "cli_sample:registry", PYTHONUTF8="1", COLUMNS="20")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    assert json.loads(done.stdout)["tools"][1]["description"] == "Zählen — 数."
    assert done.stdout.endswith(b"}\n")


def test_g5_an_error_of_the_process_has_no_traceback(folder: Path) -> None:
    done = process("tools", "schema", "get_curent_time")
    assert (done.returncode, done.stdout) == (4, b"")
    assert done.stderr.startswith(b"error: There is no tool 'get_curent_time'. Did you mean get_current_time")
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["list", "manifest"])
def test_g5_closing_the_output_is_not_an_error(folder: Path, command: str, unbuffered: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", "from callboard.cli import main; main()", "tools", command],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
