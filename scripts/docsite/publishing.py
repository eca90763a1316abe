"""The folder of published sites: one folder per version, the list of versions, and a redirect to the newest."""

import json
import shutil
from pathlib import Path
from typing import Any

REDIRECT = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Callboard</title>
    <meta http-equiv="refresh" content="0; url={version}/">
    <link rel="canonical" href="{version}/">
  </head>
  <body><a href="{version}/">Documentation of Callboard {version}</a></body>
</html>
"""


def publish(site: Path, folder: Path, version: str) -> Path:
    """Add a built site to a folder of sites. It replaces an earlier one of the same version. Returns its folder."""
    target = folder / version
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(site, target)
    file = folder / "versions.json"
    known: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    names = sorted({version, *(each["version"] for each in known)}, key=_order, reverse=True)
    listed = [{"version": each, "title": each, "aliases": ["latest"] if each == names[0] else []} for each in names]
    file.write_text(json.dumps(listed, indent=2) + "\n")
    (folder / "index.html").write_text(REDIRECT.format(version=names[0]))
    return target


def _order(version: str) -> list[tuple[bool, int | str]]:
    """Order versions by their numbers; `0.2.0rc1` comes before `0.2.0`."""
    parts = version.replace("-", ".").split(".")
    return [(part.isdigit(), int(part) if part.isdigit() else part) for part in parts]
