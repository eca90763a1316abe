"""The checklists of CONTRIBUTING.md name files that exist and that contain the model to follow (O4)."""

import re

import pytest

from tests.docs.blocks import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
CHECKLISTS = re.findall(r"^### (.+?)\n\nFollow `(.+?)`\.\n\n((?:- \[ \] .+\n)+)", TEXT, re.MULTILINE)


def plain(text: str) -> str:
    """Return a text without the differences between `tool_partial`, `TOOL_PARTIAL` and `ToolPartial`."""
    return re.sub(r"[_-]", "", text).lower()


def test_o4_every_checklist_is_read() -> None:
    assert len(CHECKLISTS) == TEXT.count("\n### ") > 5


@pytest.mark.parametrize(("title", "model", "items"), CHECKLISTS, ids=[title for title, _, _ in CHECKLISTS])
def test_o4_files_of_a_checklist_contain_its_model(title: str, model: str, items: str) -> None:
    files = re.findall(r"^- \[ \] `([^`]+)`:", items, re.MULTILINE)
    assert len(files) > 2
    for file in files:
        assert plain(model) in plain((ROOT / file).read_text()) or plain(model) in plain(file), f"{title}: {file}"


def test_o4_scripts_that_are_named_exist() -> None:
    for script in re.findall(r"\./(scripts/\w+)", TEXT):
        assert (ROOT / script).exists(), script
