"""The files of the page: they work under a strict policy, load nothing else, and never turn data into markup."""

import gzip
import re
from importlib import resources
from pathlib import Path

import pytest

STATIC = Path(str(resources.files("callboard.server").joinpath("static")))
FILES = {path.relative_to(STATIC).as_posix(): path.read_text() for path in STATIC.rglob("*.*") if path.is_file()}
SCRIPTS = {name: text for name, text in FILES.items() if name.endswith(".js")}
SOURCES = Path(__file__).parents[2] / "web" / "src"
OURS = {
    path.relative_to(SOURCES).as_posix(): path.read_text()
    for path in SOURCES.rglob("*.ts")
    if not path.name.endswith(".test.ts") and path.parts[len(SOURCES.parts)] != "tools"
}
FIRST_VIEW = 120 * 1024
"""Bytes of JavaScript, compressed, that the first view may load."""


@pytest.mark.parametrize("name", sorted(OURS))
def test_data_never_becomes_markup_or_code(name: str) -> None:
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc")
    for word in (*forbidden, "unsafe-html", "unsafe-svg", "unsafe-static", "unsafeCSS"):
        assert word not in OURS[name], word
    assert re.search(r"(:|\bas|<)\s?any\b", OURS[name]) is None
    assert re.search(r"setAttribute\(\s*[\"'](on|style|href|src)", OURS[name]) is None
    assert re.search(r"html`[^`]*\s(style|on[a-z]+|srcdoc)=", OURS[name]) is None, "the policy forbids it"


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_built_scripts_evaluate_no_text(name: str) -> None:
    for word in ("insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert word not in SCRIPTS[name], word


def test_the_page_works_under_a_policy_that_allows_only_its_own_files() -> None:
    html = FILES["index.html"]
    assert re.search(r"<style|\sstyle=|\son[a-z]+=", html) is None
    assert re.findall(r"<script[^>]*>([^<]*)</script>", html) == [""]
    for name in FILES:
        if name.startswith("ag-ui-agent"):
            continue
        addresses = set(re.findall(r"(?:https?:)?//[a-z][\w.-]*\.[a-z]+", without_comments(FILES[name])))
        # The name of a namespace, and where messages of highlight.js refer to: nothing is loaded from there.
        # Zod, which the tools of the page load on demand, knows the names of the versions of JSON Schema.
        dialects = {"http://json-schema.org", "https://json-schema.org"} if name.startswith("chunks/") else set()
        assert addresses <= {"http://www.w3.org", "https://github.com", *dialects}, name


def test_every_referenced_file_exists() -> None:
    named = re.findall(r"(?:src|href)=\"([\w./-]+\.\w+)\"", FILES["index.html"])
    named += [name for script in SCRIPTS for name in imports(script)]
    assert named
    assert set(named) <= set(FILES)


def test_w1_first_view_loads_little_javascript() -> None:
    loaded = {"app.js"}
    waiting = ["app.js"]
    while waiting:
        script = waiting.pop()
        found = imports(script, dynamic=script == "app.js") - loaded
        loaded |= found
        waiting += found
    size = sum(len(gzip.compress(SCRIPTS[name].encode(), 9)) for name in loaded)
    print(f"first view: {size} bytes of JavaScript, compressed, in {len(loaded)} files")  # noqa: T201
    assert size <= FIRST_VIEW


def imports(script: str, *, dynamic: bool = False) -> set[str]:
    """Return the files that a script imports, and those that it imports on demand."""
    text = SCRIPTS[script]
    found: list[str] = re.findall(r"(?:from|import)\s?\"\.{1,2}/([\w./-]+)\"", text)
    if dynamic:
        found += re.findall(r"import\(\"\.{1,2}/([\w./-]+)\"\)", text)
    folder = Path(script).parent
    return {(folder / name).as_posix() if (folder / name).as_posix() in FILES else name for name in found}


def without_comments(text: str) -> str:
    return re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
