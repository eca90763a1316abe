"""What a docstring says of a function and of its parameters: Google, NumPy and Sphinx styles.

The parser is an optional part and is loaded only for docstrings that have sections.
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


class Documentation(NamedTuple):
    """The description, and one per parameter."""

    description: str
    parameters: Mapping[str, str]


def documentation(docstring: str | None) -> Documentation:
    """Read a docstring. The description is what stands before its first section, character for character."""
    text = inspect.cleandoc(docstring or "")
    if (section := _SECTIONS.search(text)) is None:
        return Documentation(text, {})
    return Documentation(text[: section.start()].rstrip(), _parameters(text, section.group()))


def _parameters(text: str, section: str) -> Mapping[str, str]:
    """The descriptions of parameters. How the first section is written tells the style."""
    try:
        import docstring_parser
    except ImportError:  # the base package works without it; registration then names the extra
        return {}
    styles = docstring_parser.DocstringStyle
    style = styles.NUMPYDOC if section.endswith("---") else styles.GOOGLE
    if section.lstrip().startswith(":"):
        style = styles.REST
    try:
        parsed = docstring_parser.parse(text, style)
    except docstring_parser.ParseError:  # then it describes nothing, and registration says what is missing
        return {}
    return {entry.arg_name: entry.description for entry in parsed.params if entry.description}
