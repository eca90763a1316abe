"""Create `.venv`, keep it in sync with `requirements/dev.txt`, and build the page. Needs only Python 3.11.

Safe to run at any time, also concurrently: a lock admits one process, and an environment that is up to date is left
unchanged.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import assets

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".callboard-stamp"
INPUTS = ("requirements/uv.txt", "requirements/dev.txt", "pyproject.toml", "scripts/bootstrap.py")


def fingerprint() -> str:
    """Hash the inputs of the environment."""
    digest = hashlib.sha256(f"{sys.version} {ROOT}".encode())
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def run(*command: str | Path) -> None:
    """Run a command; print its output only if it fails."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"setting up failed at: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def make() -> None:
    """Install all requirements, into a new environment if necessary."""
    print("Setting up .venv (once, or after a change of requirements) …", file=sys.stderr, flush=True)
    STAMP.unlink(missing_ok=True)
    script = f"import pip, sys; sys.exit(sys.version != {sys.version!r})"
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", script], check=False, capture_output=True).returncode:
        run(sys.executable, "-m", "venv", "--clear", VENV)
    pip = (PYTHON, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
    run(*pip, "--require-hashes", "-r", "requirements/uv.txt")
    uv = (VENV / "bin" / "uv", "pip")
    run(*uv, "install", "--python", PYTHON, "--require-hashes", "-r", "requirements/dev.txt")
    run(*uv, "install", "--python", PYTHON, "--no-deps", "--no-build-isolation", "--editable", ".")
    STAMP.write_text(fingerprint())


def main() -> None:
    os.environ.pop("VIRTUAL_ENV", None)
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (STAMP.exists() and STAMP.read_text() == fingerprint()):
            make()
        if assets.is_stale():
            print("Building the page (after a change of web/) …", file=sys.stderr, flush=True)
            run(PYTHON, "scripts/assets.py")


if __name__ == "__main__":
    main()
