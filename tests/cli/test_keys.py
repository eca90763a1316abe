"""`callboard keys` for users and scripts (H5, O3)."""

import json
import re
import time
from pathlib import Path

import pytest

from callboard.cli.process import Exit
from callboard.storage.api_keys import is_key, read_key
from callboard.storage.rows import KeyRow
from callboard.testing.store_rows import key_row
from tests.cli.harness import Command, stored

KEY = r"cb_[0-9a-f]{16}_[0-9a-f]{64}"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    command = Command(f"sqlite:///{tmp_path / 'keys.db'}", capsys, monkeypatch)
    assert command("migrate").code == 0
    return command


def rows(run: Command) -> list[KeyRow]:
    return stored(run.url, lambda store: store.keys())


def test_h5_a_key_is_created_and_printed_once(run: Command, tmp_path: Path) -> None:
    done = run("keys", "create", "--user", "ann", "--name", "laptop")
    assert done.code == 0
    assert re.fullmatch(f"{KEY}\n", done.out), "nothing else, for scripts"
    assert "it is not shown again" in done.err
    assert "its servers refuse requests without one" in done.err
    [row] = rows(run)
    key = read_key(done.out.strip())
    assert key is not None
    assert is_key(key, row)
    assert (row.user_id, row.name, row.expires_at, row.last_used_at) == ("ann", "laptop", None, None)
    secret = done.out.strip().rpartition("_")[2]
    for shown in (run("keys", "list"), run("keys", "list", "--json"), run("keys", "revoke", row.id)):
        assert secret not in shown.out + shown.err
        assert row.digest not in shown.out + shown.err
    assert not [file for file in tmp_path.iterdir() if secret.encode() in file.read_bytes()]
    assert "first API key" not in run("keys", "create", "--user", "bob").err


def test_h5_a_key_can_expire(run: Command) -> None:
    done = run("keys", "create", "--user", "ann", "--expires", "30", "--json")
    assert done.err == ""
    made = json.loads(done.out)
    assert re.fullmatch(KEY, made["key"])
    assert (made["user_id"], made["state"]) == ("ann", "active")
    [row] = rows(run)
    assert row.expires_at == row.created_at + 30 * 86_400
    assert (made["id"], "digest" in made) == (row.id, False)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), Exit.USAGE, "--user"),
        (("--user", ""), Exit.FAILED, "The user must have 1 to 200 printable characters"),
        (("--user", "a\x1b[2J"), Exit.FAILED, "printable"),
        (("--user", "ann", "--name", " x"), Exit.FAILED, "The name of a key must have"),
        (("--user", "ann", "--expires", "0"), Exit.USAGE, "--expires"),
    ],
)
def test_h5_an_invalid_key_is_refused(run: Command, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = run("keys", "create", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert rows(run) == []


def test_o3_keys_are_listed_with_their_state(run: Command) -> None:
    assert run("keys", "list") == (0, "No API keys.\n", "")
    now = time.time()
    for row in (
        key_row("aa", name="laptop", created_at=now - 7_300, expires_at=now + 86_400 * 5 + 60, last_used_at=now - 130),
        key_row("bb", user_id="bob", created_at=now - 60, expires_at=now - 1),
        key_row("cc", created_at=now - 60, revoked_at=now),
    ):
        stored(run.url, lambda store, row=row: store.add_key(row))
    header, *lines = run("keys", "list").out.splitlines()
    assert header.split() == ["key", "user", "name", "state", "created", "expires", "last", "used"]
    assert [" ".join(line.split()) for line in lines] == [
        "aa ann laptop active 2 h ago in 5 d 2 min ago",
        "bb bob expired 1 min ago never",
        "cc ann revoked 1 min ago never",
    ]
    shown = json.loads(run("keys", "list", "--json", "--user", "ann").out)
    assert [(each["id"], each["state"]) for each in shown] == [("aa", "active"), ("cc", "revoked")]
    assert shown[1]["expires_at"] is None


def test_h5_a_key_is_revoked_by_its_id_or_by_itself(run: Command) -> None:
    text = run("keys", "create", "--user", "ann").out.strip()
    key_id = text.split("_")[1]
    assert run("keys", "revoke", text) == (0, f"The API key {key_id} of ann is revoked.\n", "")
    [row] = rows(run)
    assert row.revoked_at is not None
    assert run("keys", "revoke", key_id).out == f"The API key {key_id} of ann was already revoked.\n"
    assert rows(run) == [row]
    assert json.loads(run("keys", "revoke", key_id, "--json").out)["state"] == "revoked"


def test_h5_a_key_is_revoked_by_the_beginning_of_its_id(run: Command) -> None:
    ids: list[str] = []
    while len({key_id[0] for key_id in ids}) == len(ids):  # until two begin with the same digit
        ids.append(run("keys", "create", "--user", "ann").out.split("_")[1])
    *_, newest = ids
    done = run("keys", "revoke", newest[0])
    assert done.code == Exit.USAGE
    assert f"Several API keys begin with '{newest[0]}'" in done.err
    assert run("keys", "revoke", newest[:12]).out == f"The API key {newest} of ann is revoked.\n"
    assert [row.id for row in rows(run) if row.revoked_at is not None] == [newest]
    assert run("keys", "revoke", "").code == Exit.NOT_FOUND


def test_h5_an_unknown_key_cannot_be_revoked(run: Command) -> None:
    done = run("keys", "revoke", "0" * 16)
    assert (done.code, done.out) == (Exit.NOT_FOUND, "")
    assert "callboard keys list" in done.err
    for end in ("", "f", "-"):
        unknown = "cb_" + "0" * 16 + "_" + "f" * 64 + end
        assert "ff" not in run("keys", "revoke", unknown).err, "the secret of a mistyped key is not repeated"


def test_o3_keys_need_a_durable_store(run: Command, tmp_path: Path) -> None:
    done = run("keys", "create", "--user", "ann", "--store", "memory://")
    assert (done.code, done.out) == (1, "")
    for arguments in (("list",), ("revoke", "0" * 16)):
        missing = run("keys", *arguments, "--store", f"sqlite:///{tmp_path / 'none.db'}")
        assert (missing.code, missing.out) == (1, "")
        assert "callboard migrate" in missing.err
        assert not (tmp_path / "none.db").exists()


def test_o3_the_first_key_creates_its_store(run: Command, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    refused = run("keys", "create", "--user", "", "--store", url)
    assert (refused.code, (tmp_path / "new.db").exists()) == (1, False)
    done = run("keys", "create", "--user", "ann", "--store", url)
    assert (done.code, bool(re.fullmatch(f"{KEY}\n", done.out))) == (0, True)
    assert f"Created the store {tmp_path / 'new.db'}, which did not exist." in done.err
    assert "Created the store" not in run("keys", "create", "--user", "bob", "--store", url).err
    assert [row.user_id for row in stored(url, lambda store: store.keys())] == ["ann", "bob"]


def test_d2_keys_are_kept_in_postgresql(run: Command, postgres_url: str) -> None:
    assert run("migrate", "--store", postgres_url).code == 0
    text = run("keys", "create", "--user", "ann", "--store", postgres_url).out.strip()
    [row] = stored(postgres_url, lambda store: store.keys())
    key = read_key(text)
    assert key is not None
    assert is_key(key, row)


@pytest.mark.parametrize("command", ["serve", "demo", "doctor", "keys create", "keys list", "keys revoke"])
def test_g5_texts_speak_of_an_api_key(run: Command, command: str) -> None:
    """Other keys are those of key sets, maps and keyboards, which no command is about."""
    text = " ".join(run(*command.split(), "--help").out.split())
    assert re.findall(r"\b(?:a|an|no|without a|with a|its) keys?\b", text) == []
