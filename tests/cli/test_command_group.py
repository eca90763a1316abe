"""The list of commands agrees with the commands, which are loaded only when they are run."""

from pathlib import Path

import pytest

from callboard.cli.command_group import COMMANDS, load_command
from tests.cli.harness import Command


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(f"sqlite:///{tmp_path / 'callboard.db'}", capsys, monkeypatch)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_the_first_sentence_of_its_help(name: str) -> None:
    command = load_command(name)
    assert command.name == name
    assert command.get_short_help_str(200) == COMMANDS[name].summary


def test_the_help_lists_every_command_with_its_whole_summary(run: Command) -> None:
    done = run("--help")
    for name, source in COMMANDS.items():
        assert f"  {name:<10}{source.summary}\n" in done.out


def test_a_misspelled_command_is_answered_with_a_similar_one(run: Command) -> None:
    done = run("sesions", "list")
    assert (done.code, done.out) == (2, "")
    assert "No such command 'sesions'. Did you mean 'sessions'?" in done.err


def test_a_command_without_its_packages_names_the_extra(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, package: str) -> None:
        raise ModuleNotFoundError("No module named 'rich'", name="rich")

    monkeypatch.setattr("callboard.cli.command_group.import_module", missing)
    done = run("keys", "list")
    assert (done.code, done.out) == (1, "")
    assert 'pip install "callboard[cli]"' in done.err
