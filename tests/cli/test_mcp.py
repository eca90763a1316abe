"""`callboard mcp install` for users and scripts."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from callboard.cli.process import Exit
from tests.cli.harness import Done, run_here


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `mcp install` in an empty home, and an empty project below it."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "my_tools.py").write_text("from callboard import Registry\n\nregistry = Registry()\n")
    monkeypatch.chdir(project)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("COLUMNS", "1000")

    def install(*options: str) -> Done:
        return run_here(capsys, monkeypatch, "mcp", "install", *options)

    return install


FILES = {
    "claude-code": ("project/.mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": ("project/.vscode/mcp.json", "servers"),
}


@pytest.mark.parametrize("client", FILES)
def test_h4_o3_configuration_is_written_beside_other_servers(run: Any, tmp_path: Path, client: str) -> None:
    path, section = tmp_path / FILES[client][0], FILES[client][1]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"other": 1, section: {"theirs": {"command": "x"}}}))
    options = ("--client", client, "--tools", "my_tools:registry", "--store", "sqlite:///board.db", "--user", "ann")
    done = run(*options)
    assert (done.code, done.out) == (0, "")
    assert str(path) in done.err
    written = json.loads(path.read_text())
    assert written["other"] == 1
    assert written[section]["theirs"] == {"command": "x"}
    entry = written[section]["callboard"]
    assert Path(entry["command"]).is_absolute()
    store = f"sqlite:///{tmp_path / 'project' / 'board.db'}"
    assert entry["args"] == ["mcp", "--tools", "my_tools:registry", "--store", store, "--user", "ann"]
    assert entry["env"] == {"PYTHONPATH": str(tmp_path / "project")}
    assert entry.get("type") == (None if client == "cursor" else "stdio")
    before = path.read_text()
    assert "already" in run(*options).err
    assert path.read_text() == before
    assert [each.name for each in path.parent.iterdir() if each.name.startswith(f".{path.name}-")] == []


@pytest.mark.skipif(sys.platform != "linux", reason="the folder differs between systems")
def test_h4_o3_desktop_client_has_a_file_of_the_user(run: Any, tmp_path: Path) -> None:
    assert run("--client", "claude-desktop", "--name", "mine").code == 0
    path = tmp_path / ".config" / "Claude" / "claude_desktop_config.json"
    assert json.loads(path.read_text())["mcpServers"]["mine"]["args"] == ["mcp"]


def test_h4_o3_configuration_is_printed_and_nothing_written(run: Any, tmp_path: Path) -> None:
    done = run("--client", "vscode", "--print")
    assert json.loads(done.out)["servers"]["callboard"]["args"] == ["mcp"]
    assert not (tmp_path / "project" / ".vscode").exists()


def test_h4_o3_another_server_of_the_name_is_replaced_only_by_force(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "project" / ".mcp.json"
    path.write_text('{"mcpServers": {"callboard": {"command": "theirs"}}}')
    refused = run("--client", "claude-code")
    assert refused.code == Exit.FAILED
    assert "--force" in refused.err
    assert "theirs" in path.read_text()
    assert run("--client", "claude-code", "--force").code == 0
    assert "theirs" not in path.read_text()


@pytest.mark.parametrize("content", ["{", "[]", '// a comment\n{"mcpServers": {}}', '{"mcpServers": []}'])
def test_h4_o3_file_that_is_not_understood_is_left_alone(run: Any, tmp_path: Path, content: str) -> None:
    path = tmp_path / "project" / ".mcp.json"
    path.write_text(content)
    refused = run("--client", "claude-code")
    assert refused.code == Exit.FAILED
    assert str(path) in refused.err
    assert path.read_text() == content


def test_h4_o3_removed_folder_is_named_as_the_cause(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    done = run("--client", "vscode", "--print")
    assert (done.code, done.err) == (Exit.FAILED, "error: the current folder was removed. Change to another one.\n")


def test_h4_o3_wrong_options_are_refused_before_anything_is_written(run: Any, tmp_path: Path) -> None:
    assert "no module" in run("--client", "cursor", "--tools", "nothing:registry").err
    for url in ("me:secret@host/name", "host/name?user=me&password=secret", "me:secret/[@host/name"):
        secret = run("--client", "cursor", "--store", f"postgresql://{url}")
        assert (secret.code, "CALLBOARD_STORE" in secret.err, "secret" in secret.err) == (Exit.USAGE, True, False)
    assert not (tmp_path / ".cursor").exists()
