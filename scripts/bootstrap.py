"""Create `.venv`, keep it in sync with `requirements/dev.txt`, and build the page. Needs only Python 3.11.

Safe to run at any time, also concurrently: a lock admits one process, and an environment that is up to date is left
unchanged.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import assets
from phases import CommandFailed, Phases, run

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".callboard-stamp"
INPUTS = ("requirements/uv.txt", "requirements/dev.txt", "pyproject.toml", "scripts/bootstrap.py", "scripts/phases.py")


def fingerprint() -> str:
    """Hash the inputs of the environment."""
    digest = hashlib.sha256(f"{sys.version} {ROOT}".encode())
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def make(phases: Phases) -> None:
    """Install all requirements, into a new environment if necessary. Raises `CommandFailed`."""
    STAMP.unlink(missing_ok=True)
    script = f"import pip, sys; sys.exit(sys.version != {sys.version!r})"
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", script], check=False, capture_output=True).returncode:
        with phases.phase("Python environment in .venv") as report:
            run((sys.executable, "-m", "venv", "--clear", VENV), ROOT, report)
    with phases.phase("Installer uv") as report:
        pip = (PYTHON, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
        run((*pip, "--require-hashes", "-r", "requirements/uv.txt"), ROOT, report)
    install = (VENV / "bin" / "uv", "pip", "install", "--python", PYTHON)
    with phases.phase(f"Packages (about {_count()})") as report:
        run((*install, "--require-hashes", "-r", "requirements/dev.txt"), ROOT, report)
    build_page(phases)  # which the next step would do without a word
    with phases.phase("Callboard itself") as report:
        run((*install, "--no-deps", "--no-build-isolation", "--editable", "."), ROOT, report)
    STAMP.write_text(fingerprint())


def build_page(phases: Phases) -> None:
    """Build the page if its sources have changed. Raises `CommandFailed`."""
    if assets.is_stale():
        with phases.phase("Page, after a change of web/") as report:
            run((PYTHON, "scripts/assets.py"), ROOT, report)


def _count() -> int:
    """Return the number of packages in the requirements, those for other platforms included."""
    return len(re.findall(r"^[\w.-]+==", (ROOT / "requirements/dev.txt").read_text(), re.MULTILINE))


def main() -> None:
    os.environ.pop("VIRTUAL_ENV", None)
    phases = Phases()
    with (ROOT / ".venv.lock").open("w") as lock:
        _wait_for(lock, phases)
        try:
            if not (STAMP.exists() and STAMP.read_text() == fingerprint()):
                print("Setting up .venv, once or after a change of requirements:", file=sys.stderr, flush=True)
                make(phases)
            build_page(phases)
        except CommandFailed as error:
            sys.exit(str(error))


def _wait_for(lock: TextIO, phases: Phases) -> None:
    """Wait until no other process sets up the environment."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with phases.phase("Waiting for another process that sets up .venv"):
            fcntl.flock(lock, fcntl.LOCK_EX)


if __name__ == "__main__":
    main()
