"""Size of an installation: the files of Callboard and all packages that it needs, by the extras that are chosen.

The wheel of this source is installed with the newest versions of its dependencies into a new environment for each row.
Byte code, which Python writes later, and the interpreter do not count.
"""

import shutil
import subprocess
import sys
from functools import partial
from importlib.metadata import Distribution, distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, number

TITLE = "Size of an installation"
ONE_PROVIDER = "pydantic-ai-slim[anthropic]"
INSTALLS: dict[str, tuple[str, ...]] = {
    "callboard": ("callboard",),
    "callboard[server]": ("callboard[server]",),
    "callboard[server,cli,sql], and one provider": ("callboard[server,cli,sql]", ONE_PROVIDER),
    "callboard[server,chat,cli,sql]": ("callboard[server,chat,cli,sql]",),
    "callboard[all]": ("callboard[all]",),
}
"""Requirements by the name of a row."""
LIMITS = {"callboard": 16.0, "callboard[server]": 80.0, "callboard[all]": 230.0}
"""Megabytes, at most."""
HEAVIEST = 10


def measure(options: Options) -> dict[str, Any]:
    """Install the wheel once per row; a quick run measures the first two."""
    chosen = list(INSTALLS)[: 2 if options.quick else None]
    with TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        return {name: installed(wheel, INSTALLS[name], Path(folder, str(row))) for row, name in enumerate(chosen)}


def build_wheel(folder: Path) -> Path:
    environments.run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
    [wheel] = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, requirements: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """Install requirements into a new environment. Returns its size in bytes, and that of each package."""
    given = [f"{each} @ {wheel.as_uri()}" if each.startswith("callboard") else each for each in requirements]
    python = folder / "bin" / "python"
    _uv("venv", "--python", sys.executable, str(folder))
    _uv("pip", "install", "--link-mode", "copy", "--no-compile", "--python", str(python), *given)
    [packages] = folder.glob("lib/python*/site-packages")
    sizes = {each.name: _size(each) for each in distributions(path=[str(packages)])}
    return {"bytes": sum(sizes.values()), "packages": sizes}


def _size(package: Distribution) -> int:
    return sum(each.size or 0 for each in package.files or ())


def _uv(*arguments: str) -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
    done = subprocess.run([uv, "--quiet", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"uv {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")


def report(data: Data) -> Table:
    """Make one row per installation, with its heaviest packages."""
    lines: list[list[str]] = []
    for name, found in data.items():
        heaviest = sorted(found["packages"].items(), key=lambda item: -item[1])[:HEAVIEST]
        named = ", ".join(f"{package} {number(size / 1e6)}" for package, size in heaviest)
        lines.append([f"`{name}`", number(found["bytes"] / 1e6), str(len(found["packages"])), named])
    return Table(["installation", "MB", "packages", "the heaviest, MB"], lines)


def _megabytes(name: str, data: Data) -> float | None:
    return data[name]["bytes"] / 1e6 if name in data else None


BOUNDS = [Bound(f"`{name}`", limit, "MB", partial(_megabytes, name)) for name, limit in LIMITS.items()]
