"""Images and sounds of tools in messages for a model. Pydantic AI gives each provider its own form of them.

The text of such a result describes them, for a model that cannot read them. Pure functions.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.messages import BinaryContent, ModelMessage
from pydantic_ai.models import Model

from ..content import Block


def with_files(blocks: Sequence[Block]) -> list[str | BinaryContent]:
    """Return content, as a model reads it, with the data of its images and sounds as files."""
    return [
        block["text"]
        if block["type"] == "text"
        else BinaryContent.from_data_uri(f"data:{block['mimeType']};base64,{block['data']}")
        for block in blocks
    ]


def readable_kinds(model: Model) -> frozenset[str]:
    """Return the kinds of files that a model reads, of `image` and `audio`."""
    flags = {"image": "supports_image_input", "audio": "supports_audio_file_input"}
    return frozenset(kind for kind, flag in flags.items() if model.profile.get(flag, True))


def with_kinds(messages: list[ModelMessage], kinds: Collection[str]) -> list[ModelMessage]:
    """Return messages in which tools return only files of these kinds. Without a change it is the same list."""
    made: list[Any] = [_message(each, kinds) for each in messages]
    return messages if all(new is old for new, old in zip(made, messages, strict=True)) else made


def _message(message: Any, kinds: Collection[str]) -> Any:
    parts: list[Any] = [_part(each, kinds) for each in message.parts]
    is_same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if is_same else replace(message, parts=parts)


def _part(part: Any, kinds: Collection[str]) -> Any:
    items: Any = part.content if part.part_kind == "tool-return" else None
    if not isinstance(items, list):
        return part
    found = cast("list[Any]", items)
    kept = [each for each in found if not isinstance(each, BinaryContent) or each.media_type.split("/")[0] in kinds]
    return part if len(kept) == len(found) else replace(part, content=kept)
