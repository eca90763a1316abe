"""Build and check a release. Nothing leaves the machine without `--upload`.

The steps: the version is new and in the changelog, the working tree is clean, the source distribution and a wheel made
from it are complete, and the wheel works in an environment of its own.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from packaging.metadata import InvalidMetadata, Metadata

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
ASSETS = "callboard/server/static/"
CALL = ("tools", "run", "calculate", "--args", '{"expression": "6 * 7"}')
"""A call of a tool of the demo, and below its result."""
RESULT = "42"


class ReleaseError(Exception):
    """A step of the release failed; the message says which one, and what to do."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="./scripts/release", description="Build and check a release in dist/.")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--dry-run", action="store_true", help="build and check, and stop there (the default)")
    kind.add_argument("--upload", action="store_true", help="then tag the commit and upload the files with uv publish")
    options = parser.parse_args()
    try:
        version = read_version()
        check_tree(version)
        step("The version is new, in the changelog, and the tree is clean")
        files = build(version)
        step(f"Built {' and '.join(each.name for each in files)}")
        for file in files:
            check_metadata(file, version)
        check_assets(files[1])
        step("The metadata is valid, and the wheel has the page")
        try_wheel(files[1], version)
        step("The wheel works in a new environment")
        if options.upload:
            upload(version, files)
        else:
            print(f"Nothing was uploaded or tagged. To release {version}: ./scripts/release --upload")
    except ReleaseError as error:
        sys.exit(f"error: {error}")


def step(text: str) -> None:
    print(f"{time.monotonic() - _STARTED:6.1f} s  {text}.", flush=True)


_STARTED = time.monotonic()


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command, and return its output. Raises `ReleaseError`."""
    parts = [str(part) for part in command]
    done = subprocess.run(parts, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"this failed: {' '.join(parts)}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def read_version() -> str:
    source = (ROOT / "src/callboard/__init__.py").read_text()
    [version] = re.findall(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    return version


def check_tree(version: str) -> None:
    """Check that this commit can be released. Raises `ReleaseError`."""
    if changed := run("git", "status", "--porcelain"):
        raise ReleaseError(f"the working tree has changes. Commit them first:\n{changed.rstrip()}")
    if run("git", "tag", "--list", f"v{version}"):
        raise ReleaseError(f"the tag v{version} exists. Set another __version__.")
    section = re.search(rf"^## {re.escape(version)}\b.*?$(.*?)(?=^## |\Z)", _changelog(), re.MULTILINE | re.DOTALL)
    if section is None or "\n- " not in section[1]:
        raise ReleaseError(f"CHANGELOG.md has no entries under ## {version}. Move those of Unreleased there.")


def _changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text()


def build(version: str) -> tuple[Path, Path]:
    """Build the source distribution, and the wheel from it, so that the former is known to be complete."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", DIST)
    source = DIST / f"callboard-{version}.tar.gz"
    with tempfile.TemporaryDirectory(prefix="callboard-release-") as folder:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        unpacked = Path(folder, f"callboard-{version}")
        run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", DIST, cwd=unpacked)
    return source, DIST / f"callboard-{version}-py3-none-any.whl"


def check_metadata(file: Path, version: str) -> None:
    """Check what an index of packages would refuse, or show wrongly. Raises `ReleaseError`."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            raw = archive.read(f"callboard-{version}.dist-info/METADATA")
    else:
        with tarfile.open(file) as archive:
            member = archive.extractfile(f"callboard-{version}/PKG-INFO")
            raw = member.read() if member else b""
    try:
        metadata = Metadata.from_email(raw, validate=True)
    except (ExceptionGroup, InvalidMetadata) as error:
        raise ReleaseError(f"the metadata of {file.name} is not valid: {error}") from error
    if str(metadata.version) != version:
        raise ReleaseError(f"{file.name} has the version {metadata.version}.")
    if metadata.description_content_type != "text/markdown" or "# Callboard" not in (metadata.description or ""):
        raise ReleaseError(f"{file.name} has no description in Markdown.")


def check_assets(wheel: Path) -> None:
    """Check that the wheel has every file of the page, as it was built. Raises `ReleaseError`."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        if f"{ASSETS}build.json" not in names:
            raise ReleaseError("the wheel has no page.")
        hashes: dict[str, str] = json.loads(archive.read(f"{ASSETS}build.json"))["files"]
        for name, expected in hashes.items():
            path = f"{ASSETS}{name}"
            if path not in names or hashlib.sha256(archive.read(path)).hexdigest() != expected:
                raise ReleaseError(f"the wheel has another {path} than the build, or none.")


def try_wheel(wheel: Path, version: str) -> None:
    """Install the wheel into an environment of its own, and use it. Raises `ReleaseError`."""
    with tempfile.TemporaryDirectory(prefix="callboard-release-") as folder:
        python = Path(folder, "venv", "bin", "python")
        run("uv", "venv", "--quiet", "--python", sys.executable, Path(folder, "venv"))
        run("uv", "pip", "install", "--quiet", "--python", python, f"callboard[cli,chat,server,sql] @ {wheel.as_uri()}")
        command = python.with_name("callboard")
        printed = run(command, "--version", cwd=Path(folder)).strip()
        if version not in printed:
            raise ReleaseError(f"callboard --version prints {printed}.")
        if (result := run(command, *CALL, cwd=Path(folder)).strip()) != RESULT:
            raise ReleaseError(f"a call of the demo returns {result} instead of {RESULT}.")
        run(command, "demo", "--script", "--json", cwd=Path(folder))


def upload(version: str, files: tuple[Path, Path]) -> None:
    """Tag the commit, and upload the files. The tag is removed if the upload fails."""
    run("git", "tag", "--annotate", f"v{version}", "--message", f"Callboard {version}")
    try:
        run("uv", "publish", *files)
    except ReleaseError:
        run("git", "tag", "--delete", f"v{version}")
        raise
    step(f"Uploaded {version}")
    print(f"Push the tag: git push origin v{version}")


if __name__ == "__main__":
    main()
