"""Python packages that tests run in an environment of their own, because their dependencies may conflict with ours.

They are installed from a list of versions with hashes, once, into a folder outside the project.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.installation import cache, installation
from tests.servers import Unavailable

INSTALLED_WITHIN = 900.0
"""Seconds that an installation may take."""


def python_with(name: str, requirements: Path) -> Path:
    """Return a Python with the packages of a list, installed on first use. Raises `Unavailable`."""
    known = requirements.read_bytes() + sys.version.encode()
    folder = cache() / f"{name}-{hashlib.sha256(known).hexdigest()[:16]}"
    with installation(folder.name):
        if not folder.exists():
            _make(folder, requirements)
    return folder / "bin" / "python"


def _make(folder: Path, requirements: Path) -> None:
    made = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    try:
        _uv("venv", "--quiet", "--clear", "--relocatable", "--python", sys.executable, str(made))
        target = ["--python", str(made / "bin" / "python")]
        _uv("pip", "install", "--quiet", "--require-hashes", *target, "--requirements", str(requirements))
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _uv(*arguments: str) -> None:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        raise Unavailable("there is no uv here")
    try:
        done = subprocess.run([uv, *arguments], capture_output=True, text=True, timeout=INSTALLED_WITHIN)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"uv did not install it: {error}") from error
    if done.returncode:
        raise Unavailable(f"uv did not install it: {done.stderr[-500:]}")
