"""`./scripts/release`, run in a clone: what it refuses, and a whole release that uploads nothing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import callboard

ROOT = Path(__file__).parents[2]
STATIC = "src/callboard/server/static"
PROGRAMS = str(Path(sys.executable).parent)
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    "PATH": os.pathsep.join((PROGRAMS, os.environ["PATH"])),
    **{f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}

Done = subprocess.CompletedProcess[str]


class Clone:
    """A clone of this repository with its built page, so that a release of it needs no Node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        shutil.copytree(ROOT / STATIC, folder / STATIC)
        shutil.copy(ROOT / "scripts/release.py", folder / "scripts/release.py")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "The script of today")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, check=True
        )
        return done.stdout

    def release(self, *options: str) -> Done:
        command = [sys.executable, "scripts/release.py", *options]
        return subprocess.run(command, cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)

    def finish_changelog(self) -> None:
        path = self.folder / "CHANGELOG.md"
        text = path.read_text().replace("## Unreleased\n", f"## Unreleased\n\n## {callboard.__version__}\n", 1)
        path.write_text(text)
        self.git("commit", "--quiet", "--all", "--message", "Release")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    if not (ROOT / ".git").exists() or not (ROOT / STATIC).exists():
        pytest.skip("this is not a clone with a built page")
    return Clone(tmp_path / "clone")


def leave_a_change(clone: Clone) -> None:
    (clone.folder / "left.txt").write_text("")


def tag_it(clone: Clone) -> None:
    clone.git("tag", f"v{callboard.__version__}")


@pytest.mark.parametrize(
    ("spoil", "message"), [(leave_a_change, "the working tree has changes"), (tag_it, "exists. Set another")]
)
def test_release_is_refused_with_the_reason(clone: Clone, spoil: Callable[[Clone], None], message: str) -> None:
    clone.finish_changelog()
    spoil(clone)
    done = clone.release()
    assert done.returncode == 1
    assert message in done.stderr
    assert not (clone.folder / "dist").exists()


def test_release_needs_entries_in_the_changelog(clone: Clone) -> None:
    path = clone.folder / "CHANGELOG.md"
    path.write_text(f"# Changelog\n\n## Unreleased\n\n- One.\n\n## {callboard.__version__}\n\n## 0.0.1\n\n- Two.\n")
    clone.git("commit", "--quiet", "--all", "--message", "An empty section")
    assert f"has no entries under ## {callboard.__version__}" in clone.release().stderr


@pytest.mark.slow
def test_release_is_built_and_checked_and_not_uploaded(clone: Clone) -> None:
    clone.finish_changelog()
    done = clone.release("--dry-run")
    assert done.returncode == 0, done.stderr
    assert "The wheel works in a new environment." in done.stdout
    assert "Nothing was uploaded or tagged." in done.stdout
    assert len(list((clone.folder / "dist").iterdir())) == 2
    assert clone.git("tag") == ""
