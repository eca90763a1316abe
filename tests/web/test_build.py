"""The build of the page: what the wheel contains, that it can be repeated, and what the npm package promises."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import callboard
from scripts import assets
from tests.conftest import without
from tests.servers import Unavailable

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
PACKAGE: dict[str, Any] = json.loads((WEB / "package.json").read_text())
BUNDLE = """
import { build } from "esbuild";
const [entry, packages] = process.argv.slice(1);
const options = { bundle: true, minify: true, format: "esm", write: false, nodePaths: [packages] };
const { outputFiles } = await build({ entryPoints: [entry], ...options });
console.log(outputFiles[0].contents.length);
"""
LOCK: dict[str, Any] = json.loads((WEB / "package-lock.json").read_text())


@pytest.fixture(scope="module")
def node() -> str:
    """Node, with the packages of `web/`."""
    try:
        return assets.prepared_node()
    except assets.BuildError as error:
        without("Node", Unavailable(str(error)))


def hatch(folder: Path, target: str, to: Path, **environment: str) -> Path:
    """Build a distribution of a folder. Returns its file."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(to)]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    (made,) = to.iterdir()
    return made


def test_w1_a_wheel_has_the_assets_and_is_the_same_when_built_twice(tmp_path: Path) -> None:
    one, two = (hatch(ROOT, "wheel", tmp_path / name) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    names = zipfile.ZipFile(one).namelist()
    for name in ("index.html", "icon.svg", "style.css", "app.js", "chat.js", "ag-ui-agent.js"):
        assert f"callboard/server/static/{name}" in names
    assert [name for name in names if name.startswith("callboard/server/static/chunks/")]
    assert "callboard/server/static/build.json" in names
    assert not [name for name in names if name.startswith("web/") or name.endswith((".ts", ".tsx"))]


def test_w1_a_wheel_from_the_source_distribution_needs_no_node(tmp_path: Path) -> None:
    with tarfile.open(hatch(ROOT, "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()
    assert (folder / "web" / "package-lock.json").exists()
    assert not (folder / "web" / "node_modules").exists()
    built = hatch(folder, "wheel", tmp_path / "again", PATH="")
    assert not (folder / "web" / "node_modules").exists()
    direct = hatch(ROOT, "wheel", tmp_path / "direct")
    assert built.read_bytes() == direct.read_bytes()


def test_w1_the_assets_are_the_same_when_built_anew(node: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        subprocess.run([node, WEB / "build.mjs", tmp_path / name], cwd=WEB, timeout=600, check=True)
    found = [
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("one", "two")
    ]
    assert found[0]
    assert found[0] == found[1]


def test_w1_assets_are_stale_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web, built = tmp_path / "web", tmp_path / "static"
    (web / "src").mkdir(parents=True)
    built.mkdir()
    for name in assets.CONFIGURATION:
        (web / name).write_text(name)
    (built / "a.js").write_text("built")
    monkeypatch.setattr(assets, "WEB", web)
    monkeypatch.setattr(assets, "BUILT", built)
    assert assets.is_stale()  # it was never built

    def stamp() -> None:
        assets.write_stamp(built)
        assert not assets.is_stale()

    stamp()
    (web / "src" / "new.ts").write_text("1")
    assert assets.is_stale()
    stamp()
    (web / "src" / "new.test.ts").write_text("a test is not part of the assets")
    assert not assets.is_stale()
    (built / "a.js").write_text("changed by hand")
    assert assets.is_stale()
    stamp()
    (built / "a.js").unlink()
    assert assets.is_stale()


def test_w1_versions_are_exact_and_the_lock_file_names_no_host() -> None:
    assert PACKAGE["version"] == LOCK["version"] == callboard.__version__
    for group in ("dependencies", "devDependencies"):
        for name, version in PACKAGE[group].items():
            assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
            assert LOCK["packages"][f"node_modules/{name}"]["version"] == version
    assert not [name for name, entry in LOCK["packages"].items() if "resolved" in entry]


def check_examples(node: str, folder: Path) -> None:
    """Check the types of the guide's examples, with the package as its users install it."""
    for name in ("zod", "@ag-ui", "rxjs"):
        (folder / "node_modules" / name).symlink_to(WEB / "node_modules" / name)
    found = re.findall(r"^```ts\n(.*?)^```", (ROOT / "docs" / "web.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(found) == 2
    for number, source in enumerate(found):
        (folder / f"example{number}.ts").write_text(source)
    (folder / "package.json").write_text('{"type": "module"}')
    options = {
        "strict": True,
        "noEmit": True,
        "module": "nodenext",
        "target": "es2022",
        "exactOptionalPropertyTypes": True,
    }
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    tsc = WEB / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run([node, tsc], cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout


PARTS = {"api", "elements", "events", "markdown", "page-tools", "state", "texts", "tools", "wallet"}
"""The folders of the npm package."""


def test_w2_the_npm_package_has_its_modules_and_types_and_can_be_shaken(node: str, tmp_path: Path) -> None:
    tsc = WEB / "node_modules" / "typescript" / "bin" / "tsc"
    made = tmp_path / "node_modules" / "callboard"
    command = [node, tsc, "--project", "tsconfig.package.json", "--outDir", made / "dist"]
    subprocess.run(command, cwd=WEB, timeout=600, check=True)
    shutil.copy(WEB / "package.json", made)
    for exported in PACKAGE["exports"].values():
        for path in exported.values() if isinstance(exported, dict) else [exported]:
            assert (made / path).exists(), path
    assert not list(made.rglob("*.test.*"))
    assert {path.name for path in (made / "dist").iterdir() if path.is_dir()} == PARTS
    check_examples(node, tmp_path)
    entry = tmp_path / "entry.js"
    sizes: dict[str, int] = {}
    for name, module in {"ToolRegistry": "tools", "AgUiAgent": "tools", "ChatElement": "chat"}.items():
        entry.write_text(f'export {{ {name} }} from "callboard/{module}";')
        done = subprocess.run(
            [node, "--input-type=module", "-e", BUNDLE, entry, WEB / "node_modules"],
            cwd=WEB,
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        sizes[name] = int(done.stdout)
    assert sizes["ToolRegistry"] < 60_000 < sizes["AgUiAgent"]  # the registry does not bring the client along
