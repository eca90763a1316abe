"""Descriptions of functions and parameters, parsed from docstrings in Google, NumPy and Sphinx style.

The parser is an optional dependency, imported only for docstrings with sections.
"""

import inspect
import re
from collections.abc import Mapping
from typing import NamedTuple

_SECTIONS = re.compile(
    r"^[ \t]*(?:(?:Args|Arguments|Parameters|Params|Returns?|Yields?|Raises|Attributes|Examples?|Notes?):[ \t]*$"
    r"|(?:Parameters|Returns|Yields|Raises|Other Parameters)[ \t]*\n[ \t]*-{3,}"
    r"|:(?:param|parameter|arg|argument|returns?|raises|rtype|type|yields?)\b)",
    re.MULTILINE,
)


class ParsedDocstring(NamedTuple):
    """The description of a function, and one for each documented parameter."""

    description: str
    parameters: Mapping[str, str]


def parse_docstring(docstring: str | None) -> ParsedDocstring:
    """Parse a docstring. The description is the text before its first section, unchanged."""
    text = inspect.cleandoc(docstring or "")
    if (section := _SECTIONS.search(text)) is None:
        return ParsedDocstring(text, {})
    return ParsedDocstring(text[: section.start()].rstrip(), _parameters(text, section.group()))


def _parameters(text: str, section: str) -> Mapping[str, str]:
    """Parse the descriptions of parameters. The heading of the first section determines the style."""
    try:
        import docstring_parser
    except ImportError:  # the error of an undescribed property names the extra
        return {}
    styles = docstring_parser.DocstringStyle
    style = styles.NUMPYDOC if section.endswith("---") else styles.GOOGLE
    if section.lstrip().startswith(":"):
        style = styles.REST
    try:
        parsed = docstring_parser.parse(text, style)
    except docstring_parser.ParseError:  # registration reports the parameters without a description
        return {}
    return {  # NumPy documents several parameters at once: `x, y : float`
        name.strip(): entry.description
        for entry in parsed.params
        if entry.description
        for name in entry.arg_name.split(",")
    }
