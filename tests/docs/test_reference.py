"""The reference has every public name, route, command, event kind, error code and setting, and no other (O4).

The pages are generated. These tests compare them with the source by other means than those that generate them.
"""

import ast
import re
from dataclasses import fields
from pathlib import Path

import griffe
import pytest
from starlette.routing import Route

import callboard
from callboard import Runtime, Settings
from callboard.cli.commands.doctor import unknown_variables
from callboard.errors import ErrorCategory
from callboard.events.kinds import EventKind
from callboard.server.app import ENDPOINTS, create_app
from callboard.server.identity.config import IdentityConfig
from callboard.server.page_assets import page_routes
from callboard.tools.function import Options
from scripts.docsite import api_reference, staging
from scripts.docsite.navigation import navigation
from tests.docs.blocks import ROOT
from tests.docs.blocks import site_pages as pages


def headings(page: str, pattern: str) -> set[str]:
    """Return what the headings of a page name."""
    return set(re.findall(rf"^#+ `{pattern}`", pages()[page], re.MULTILINE))


def first_column(page: str, section: str) -> list[str]:
    """Return the code in the first column of the table in a section."""
    text = pages()[page].partition(f"## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def test_o4_reference_has_every_public_name() -> None:
    text = "".join(text for path, text in pages().items() if path.startswith("reference/api/"))
    listed = re.findall(r"^::: callboard\.(\w+)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(callboard.__all__)


@pytest.mark.parametrize("module", api_reference.OTHER_MODULES)
def test_o4_reference_names_of_modules_exist(module: str) -> None:
    found = __import__(module, fromlist=["_"])
    for name in api_reference.OTHER_MODULES[module]:
        assert getattr(found, name).__doc__, f"{module}.{name} has no docstring"


def test_o4_reference_has_every_route() -> None:
    listed = headings("reference/http.md", r"([A-Z]+ /[^`]*)")
    assert listed == {f"{each.method} {each.path.replace(':path}', '}')}" for each in ENDPOINTS}
    served = {str(route.path) for route in create_app(Runtime()).routes if isinstance(route, Route)}
    others = {path for path in served if not path.startswith("/api/")}
    files = {str(route.path) for route in page_routes() if isinstance(route, Route)}  # if the page is built
    listed = set(first_column("reference/http.md", "Other routes"))
    assert others - files <= listed
    assert not files or listed <= others


def test_o4_reference_has_every_command() -> None:
    """Every function that is a command, found in the source of the commands."""
    listed = headings("reference/commands.md", r"callboard ([a-z ]+)")
    source = (ROOT / "src/callboard/cli/command_group.py").read_text()
    assert set(re.findall(r'^    "([a-z]+)": CommandSource', source, re.MULTILINE)) == {
        name for name in listed if " " not in name
    }
    decorated = 0
    for path in (ROOT / "src/callboard/cli/commands").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                calls = [each.func for each in node.decorator_list if isinstance(each, ast.Call)]
                decorated += any(isinstance(each, ast.Attribute) and each.attr == "command" for each in calls)
    assert len([name for name in listed if " " in name]) == decorated


def test_o4_reference_explains_every_option() -> None:
    """An option without a meaning would be an empty last cell."""
    for page in ("reference/commands.md", "reference/settings.md"):
        assert re.findall(r"^.*\|  \|$", pages()[page], re.MULTILINE) == [], page


def test_o4_reference_has_every_setting() -> None:
    listed = first_column("reference/settings.md", "Runtime and toolkits")
    listed += first_column("reference/settings.md", "Server: identity and admission")
    names = {f"CALLBOARD_{each.name.upper()}" for owner in (Settings, IdentityConfig) for each in fields(owner)}
    assert set(listed) == (names - {"CALLBOARD_GATES"}) | {"CALLBOARD_GATE_<NAME>"}
    options = set(first_column("reference/settings.md", "Options of commands"))
    assert {"CALLBOARD_STORE", "CALLBOARD_HOST", "CALLBOARD_PORT", "CALLBOARD_MODEL"} <= options
    assert unknown_variables(sorted({*listed, *options} - {"CALLBOARD_GATE_<NAME>"})) == {}


def test_o4_reference_has_every_event_kind() -> None:
    text = pages()["events.md"]
    assert set(re.findall(r"^### `(\w+)`$", text, re.MULTILINE)) == set(EventKind)
    assert '"events.md",' in (ROOT / "scripts/docsite/navigation.py").read_text()


def test_o4_reference_has_every_error_code() -> None:
    assert first_column("reference/errors.md", "Categories of failed calls") == [each.value for each in ErrorCategory]
    listed = set(first_column("reference/errors.md", "Exceptions"))
    source = "".join(path.read_text() for path in (ROOT / "src/callboard").rglob("*.py"))
    written = set(re.findall(r'^    code = "(\w+)"$', source, re.MULTILINE))
    assert listed == written


def test_o4_every_page_is_in_the_navigation_once() -> None:
    made = pages()
    listed = re.findall(r'"([^"]+\.md)"', navigation(made))
    assert sorted(listed) == sorted(made)


def test_o4_navigation_names_a_missing_page() -> None:
    with pytest.raises(ValueError, match=r"tutorial\.md, which does not exist"):
        navigation({path: text for path, text in pages().items() if path != "tutorial.md"})


def test_o4_links_that_leave_the_site_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("[code](../src/callboard/runtime.py)")
    monkeypatch.setattr(staging, "ROOT", tmp_path)
    source = tmp_path / "docs/index.md"
    with pytest.raises(staging.BrokenLink, match=r"docs/index\.md links to \.\./src"):
        "".join(staging._linked(source, "index.md", {source: "index.md"}))


def test_o4_every_public_name_and_its_members_have_a_docstring() -> None:
    """Except attributes of exceptions, whose classes explain them, and internal attributes of the runtime."""
    package = griffe.load("callboard", search_paths=[str(ROOT / "src")], resolve_aliases=True)
    missing: list[str] = []
    for name in callboard.__all__:
        found = package[name]
        if not found.has_docstring:
            missing.append(name)
        if (
            found.is_class
            and name not in api_reference.ONLY_DOCUMENTED
            and not issubclass(getattr(callboard, name), callboard.CallboardError)
        ):
            members = found.members.items()
            missing += [f"{name}.{each}" for each, member in members if each[0] != "_" and not member.has_docstring]
    assert missing == []


def test_o4_reference_has_every_option_of_a_tool() -> None:
    section = pages()["reference/api/tools.md"].partition("## Options of `tool`")[2]
    assert set(re.findall(r"^\| `(\w+)` \| \w", section, re.MULTILINE)) == set(Options.__annotations__)
