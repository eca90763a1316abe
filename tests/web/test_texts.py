"""Texts of the page: they are in one place, so that they can be translated."""

import re
from pathlib import Path

import pytest

ELEMENTS = Path(__file__).parents[2] / "web" / "src" / "elements"
FILES = sorted(path for path in ELEMENTS.rglob("*.ts"))
SPOKEN = re.compile(r'\b(?:aria-label|aria-description|title|placeholder|alt|label)="([^"]*)"')
LETTERS = re.compile(r"[^\W\d_]{2,}")


def templates(source: str) -> list[str]:
    """Return the templates of a source, each without its expressions."""
    found: list[str] = []
    for start in re.finditer(r"\bhtml`", source):
        text, place, depth = "", start.end(), 0
        while place < len(source) and (depth > 0 or source[place] != "`"):
            here = source[place]
            if depth == 0 and source.startswith("${", place):
                depth, place = 1, place + 2
                continue
            if depth > 0 and here == "`":  # a template in an expression is found by itself
                place = end_of_template(source, place + 1)
                continue
            depth += (here == "{") - (here == "}") if depth > 0 else 0
            text += here if depth == 0 and here != "}" else ""
            place += 1
        found.append(text)
    return found


def end_of_template(source: str, place: int) -> int:
    """Return the place behind a template whose content starts at a place."""
    depth = 0
    while place < len(source):
        if depth == 0 and source[place] == "`":
            return place + 1
        if source.startswith("${", place):
            depth, place = depth + 1, place + 2
        elif depth > 0 and source[place] == "`":
            place = end_of_template(source, place + 1)
        else:
            depth += (source[place] == "{") - (source[place] == "}") if depth > 0 else 0
            place += 1
    return place


def texts_in(template: str) -> list[str]:
    """Return the texts that people read or hear in a template."""
    spoken = SPOKEN.findall(template)
    visible = re.sub(r"<!--.*?-->", "", template, flags=re.DOTALL)
    visible = re.sub(r"<[^<>]*>", "\n", visible)
    return [text.strip() for text in (*spoken, *visible.split("\n")) if LETTERS.search(text)]


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(ELEMENTS).as_posix() for path in FILES])
def test_w3_templates_have_no_texts_of_their_own(path: Path) -> None:
    assert [text for template in templates(path.read_text()) for text in texts_in(template)] == []


def test_w3_texts_in_templates_are_found() -> None:
    source = 'html`<p title=${x}>${y ? html`<b>inner</b>` : `no ${z}`} outer</p><i aria-label="heard">☰</i>`'
    assert [texts_in(template) for template in templates(source)] == [["heard", "outer"], ["inner"]]
