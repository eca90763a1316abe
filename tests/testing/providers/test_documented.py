"""Every rule has a source, and the page on the doubles names it (C5)."""

import inspect
import re
from pathlib import Path

import pytest

from callboard.testing.providers import AnthropicDouble, Double, GeminiDouble, OpenAIChatDouble, OpenAIResponsesDouble

PAGE = (Path(__file__).parents[3] / "docs" / "providers.md").read_text()
SECTIONS: dict[type[Double], str] = {
    AnthropicDouble: "Anthropic",
    OpenAIChatDouble: "OpenAI Chat Completions",
    OpenAIResponsesDouble: "OpenAI Responses",
    GeminiDouble: "Gemini",
}


def rows(section: str) -> dict[str, str]:
    """The rules of a section, each with its row."""
    text = PAGE.partition(f"\n### {section}\n")[2].partition("\n##")[0]
    return {found.group(1): found.group(0) for found in re.finditer(r"^\| `(\w+)`.*$", text, re.MULTILINE)}


@pytest.mark.parametrize("kind", SECTIONS, ids=lambda kind: kind.__name__)
def test_c5_rules_are_documented_with_their_sources(kind: type[Double]) -> None:
    listed = rows(SECTIONS[kind])
    assert list(listed) == [rule.__name__ for rule in kind.rules]
    for rule in kind.rules:
        sources = re.findall(r"https://[^\s,]+", inspect.getdoc(rule) or "")
        assert sources, f"{rule.__name__} has no source"
        for source in sources:
            assert f"]({source.rstrip('.')})" in listed[rule.__name__], f"{rule.__name__}: {source} is not on the page"
