"""Parts of a conversation in a form that every provider accepts. Pure functions.

Models write blank texts, call tools that do not exist, and choose ids and arguments that the next provider refuses.
Each function returns its input unchanged where all providers accept it. The stored transcript keeps the original.
"""

import json
import re
import reprlib
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_ai.messages import ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_core import from_json

from ..content import undeclared_blocks
from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from .media import with_files

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_CALLS = 128
"""The largest number of calls in one message: OpenAI's limit."""
BLANK_INPUT = "(blank message)"
"""Stands for a blank input."""
BLANK_TEXT = "…"
"""Stands for a blank text of the model that cannot be left out."""
INVALID_JSON = "INVALID_JSON"
"""The name of the argument that holds the text of invalid arguments, as in Pydantic AI."""
UNNAMED = "unnamed_tool"
ANTHROPIC = "anthropic"
"""The provider that refuses thoughts after anything else in a message, and some names of arguments."""

Value = TypeVar("Value", bound="DataclassInstance")

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_REPLACED = re.compile("[\x00\ud800-\udfff]")
_INVISIBLE = frozenset(
    map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10)))
)
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})


def updated(value: Value, **changes: Any) -> Value:
    """Copy a message or a part with changes. Without any difference it is returned itself, which saves memory."""
    same = all(getattr(value, name) == change for name, change in changes.items())
    return value if same else replace(value, **changes)


def is_blank(text: str) -> bool:
    """Whether a text has no visible character. Zero-width characters are invisible: Anthropic refuses them alone."""
    return all(each in _INVISIBLE or unicodedata.category(each) in _INVISIBLE_CATEGORIES for each in text)


def valid_text(text: str) -> str:
    """Replace lone surrogates, which cannot be sent, and NUL, which PostgreSQL cannot store."""
    return _REPLACED.sub("\ufffd", text)


def valid_name(name: str) -> str:
    """Make the name of a tool valid in a history: 1 to 64 letters, digits, `_` and `-`."""
    if _NAME.fullmatch(name):
        return name
    plain = _NOT_IN_NAMES.sub("_", name)
    if not plain.strip("_-"):
        return UNNAMED
    return (plain if _NAME.match(plain) else f"_{plain}")[:64]


def valid_id(call_id: str, used_ids: Collection[str]) -> str:
    """Make the id of a call valid for every provider: the same for the same id, and not one that is taken."""
    if _ID.fullmatch(call_id) and call_id not in used_ids:
        return call_id
    made, number = "", 0
    while not made or made in used_ids:
        made = f"call_{sha256(f'{number} {call_id}'.encode(errors='surrogatepass')).hexdigest()[:24]}"
        number += 1
    return made


def valid_arguments(arguments: str | Mapping[str, Any] | None) -> str | dict[str, Any]:
    """Make arguments a JSON object that can be sent. Anything else becomes the text of one argument."""
    if not arguments:
        return {}
    try:
        given: Any = from_json(arguments, allow_inf_nan=False) if isinstance(arguments, str) else arguments
        if isinstance(given, Mapping):
            written = json.dumps(given, allow_nan=False, ensure_ascii=False).encode()
            if isinstance(arguments, str):
                return arguments
            if not exceeds_depth(written, MAX_DEPTH):
                return dict(arguments)
    except (ValueError, TypeError, RecursionError):  # not JSON, infinite numbers, lone surrogates, nested too deeply
        pass
    return {INVALID_JSON: valid_text(arguments if isinstance(arguments, str) else _text_of(arguments))}


def _text_of(arguments: Mapping[str, Any]) -> str:
    try:
        return repr(dict(arguments))
    except RecursionError:
        return reprlib.repr(dict(arguments))


def valid_result(content: Any) -> Any:
    """Make the answer to a call valid. A blank text is written as JSON, so that the model sees that it is blank."""
    if (blocks := undeclared_blocks(content)) is not None:
        return [valid_text(each) if isinstance(each, str) else each for each in with_files(blocks)]
    if not isinstance(content, str):
        return content
    return json.dumps(content) if is_blank(content) else valid_text(content)


def valid_input(text: str) -> str:
    """Make an input valid."""
    return BLANK_INPUT if is_blank(text) else valid_text(text)


def valid_parts(parts: Iterable[ModelResponsePart], ids: Mapping[str, str]) -> list[ModelResponsePart]:
    """Make a response valid: no blank texts, no thought at the end, and calls with valid names, ids and arguments.

    OpenAI's ids of texts and calls are kept only directly after a thought. OpenAI refuses such an item without the
    thought that led to it, which a stream may have lost; it always accepts an item without an id.
    """
    made: list[ModelResponsePart] = []
    for part in parts:
        thought = isinstance(made[-1], ThinkingPart) and made[-1].id is not None if made else False
        if isinstance(part, TextPart):
            if not is_blank(part.content):
                made.append(updated(part, content=valid_text(part.content), id=part.id if thought else None))
            elif part.id is not None and thought:  # OpenAI refuses a thought without the item that followed it
                made.append(updated(part, content=BLANK_TEXT))
        elif isinstance(part, ToolCallPart):
            made.append(
                updated(
                    part,
                    tool_name=valid_name(part.tool_name),
                    tool_call_id=ids[part.tool_call_id],
                    args=valid_arguments(part.args),
                    id=part.id if thought else None,
                )
            )
        elif isinstance(part, ThinkingPart):
            leads = all(isinstance(each, ThinkingPart) for each in made) or part.provider_name != ANTHROPIC
            if leads and (part.signature or not is_blank(part.content)):
                made.append(updated(part, content=valid_text(part.content)))
            elif leads and part.id is not None:  # OpenAI refuses an item without the thought that came before it
                made.append(updated(part, content=BLANK_TEXT))
        else:
            made.append(part)
    while made and isinstance(made[-1], ThinkingPart):  # Anthropic and OpenAI refuse reasoning that nothing follows
        made.pop()
    return made


def split(parts: Sequence[ModelResponsePart]) -> list[list[ModelResponsePart]]:
    """Split parts into groups of at most `MAX_CALLS` calls, in order."""
    groups: list[list[ModelResponsePart]] = [[]]
    calls = 0
    for part in parts:
        if isinstance(part, ToolCallPart):
            if calls == MAX_CALLS:
                groups.append([])
                calls = 0
            calls += 1
        groups[-1].append(part)
    return groups
