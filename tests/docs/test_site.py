"""The documentation site is built without warnings, quickly, and every link in it leads somewhere (O4)."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.docsite.link_check import broken_links
from scripts.docsite.publishing import publish
from tests.docs.blocks import ROOT


@pytest.mark.slow
def test_o4_site_is_built_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.docsite", "--repository", "https://example.org/callboard"]
    began = time.monotonic()
    done = subprocess.run([*command, "--publish", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 60
    assert "No issues found" in done.stdout + done.stderr
    [version] = json.loads((tmp_path / "versions.json").read_text())
    site = tmp_path / version["version"]
    api = (site / "reference/api/runtime/index.html").read_text()
    assert 'id="callboard.Runtime"' in api
    assert "keep_executions" in api, "the signature of the constructor"
    assert (
        'href="https://example.org/callboard/edit/main/docs/tutorial.md"' in (site / "tutorial/index.html").read_text()
    )
    assert 'rel="edit"' not in (site / "reference/http/index.html").read_text()
    assert (site / "search.json").stat().st_size > 100_000


def test_o4_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">T</h1><a href="a/#there">1</a><a href="a/#gone">2</a><a href="b/">3</a><a href="https://x.y/">4</a>'
    )
    (tmp_path / "a/index.html").write_text('<h2 id="there">T</h2><a href="../#top">1</a><img src="none.png">')
    assert list(broken_links(tmp_path)) == [
        "a/index.html: none.png does not exist",
        "index.html: a/#gone has no such heading",
        "index.html: b/ does not exist",
    ]


def test_o4_versions_of_the_site_are_kept_side_by_side(tmp_path: Path) -> None:
    site, folder = tmp_path / "site", tmp_path / "published"
    site.mkdir()
    for version in ("0.9.0", "0.10.0", "0.10.0rc1", "0.9.0"):
        (site / "index.html").write_text(version)
        publish(site, folder, version)
    listed = json.loads((folder / "versions.json").read_text())
    assert [each["version"] for each in listed] == ["0.10.0", "0.10.0rc1", "0.9.0"]
    assert [each["aliases"] for each in listed] == [["latest"], [], []]
    assert (folder / "0.9.0/index.html").read_text() == "0.9.0"
    assert 'url=0.10.0/"' in (folder / "index.html").read_text()
