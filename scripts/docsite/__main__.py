"""Build the documentation site in `build/site`. See `./scripts/docs --help`."""

import argparse
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import callboard

from .link_check import broken_links
from .markdown import ROOT
from .navigation import navigation
from .publishing import publish
from .staging import BrokenLink, pages

BUILD = ROOT / "build"
HERE = Path(__file__).parent
WATCHED = ("docs", "examples", "bench", "src", "scripts/docsite", "CHANGELOG.md")


def main() -> None:
    parser = argparse.ArgumentParser(prog="./scripts/docs", description="Build the documentation site in build/site.")
    parser.add_argument("--serve", action="store_true", help="serve it, and build it again when a file changes")
    parser.add_argument("--port", type=int, default=8001, help="the port for --serve")
    parser.add_argument("--repository", default=origin(), help="the URL of the repository, for edit links")
    parser.add_argument("--publish", type=Path, metavar="FOLDER", help="add it to a folder with one site per version")
    options = parser.parse_args()
    try:
        stage(options.repository, versions=options.publish is not None)
        if options.serve:
            serve(options.port, options.repository)
            return
        count = build()
    except (BrokenLink, ValueError) as error:
        sys.exit(f"error: {error}")
    print(f"Built {count} pages in {(BUILD / 'site').relative_to(ROOT)}.")
    if options.publish:
        print(f"Published {publish(BUILD / 'site', options.publish, callboard.__version__)}.")


def origin() -> str | None:
    """Return the web address of the repository that this clone is from, if it has one."""
    command = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    url = re.sub(r"^git@([^:]+):", r"https://\1/", done.stdout.strip()).removesuffix(".git")
    return url if url.startswith("https://") else None


def stage(repository: str | None, *, versions: bool = False) -> None:
    """Write the pages and the configuration of the site to the folder `build`. Unchanged files stay as they are."""
    made = pages()
    docs = BUILD / "docs"
    for path in docs.rglob("*"):
        if path.is_file() and path.relative_to(docs).as_posix() not in made and path.suffix == ".md":
            path.unlink()
    for name, text in made.items():
        _write(docs / name, text)
    for image in (ROOT / "docs").rglob("*"):
        if image.suffix in (".png", ".svg"):
            target = docs / image.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(image, target)
    _write(docs / "site.css", (HERE / "site.css").read_text())
    shutil.copytree(HERE / "theme", BUILD / "theme", dirs_exist_ok=True)
    given = navigation(made) + f'copyright = "Callboard {callboard.__version__}, MIT licence"\n'
    if repository:
        given += f'repo_url = "{repository}"\nedit_uri = "edit/main/docs/"\n'
    config = (HERE / "zensical.toml").read_text().replace("[project]\n", f"[project]\n{given}", 1)
    config += f'\n[project.plugins.mkdocstrings.handlers.python]\npaths = ["{ROOT / "src"}"]\n'
    if versions:
        config += '\n[project.extra.version]\nprovider = "mike"\n'
    _write(BUILD / "zensical.toml", config)


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def zensical(*arguments: str) -> "subprocess.Popen[str]":
    """Start Zensical in the folder `build`."""
    command = [sys.executable, "-m", "zensical", *arguments]
    return subprocess.Popen(command, cwd=BUILD, text=True)


def build() -> int:
    """Build the staged site. Warnings and broken links are errors. Returns the number of pages."""
    shutil.rmtree(BUILD / "site", ignore_errors=True)
    if zensical("build", "--clean", "--strict").wait():
        sys.exit("error: the site has problems, which are listed above.")
    if problems := list(broken_links(BUILD / "site")):
        sys.exit("\n".join(["error: the site has broken links:", *problems]))
    return len(list((BUILD / "site").rglob("index.html")))


def serve(port: int, repository: str | None) -> None:
    """Serve the site until Ctrl-C, and stage it again after each change."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # the server below must end, too
    server = zensical("serve", "--dev-addr", f"127.0.0.1:{port}")
    last = _newest()
    try:
        while server.poll() is None:
            time.sleep(1)
            if (newest := _newest()) != last:
                last = newest
                try:
                    stage(repository)
                except (BrokenLink, ValueError) as error:
                    print(f"error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        pass
    finally:
        server.terminate()
        server.wait()


def _newest() -> float:
    files = [file for name in WATCHED for file in (ROOT / name, *(ROOT / name).rglob("*")) if file.is_file()]
    return max(file.stat().st_mtime for file in files)


if __name__ == "__main__":
    main()
