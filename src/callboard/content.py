"""Content that is not JSON data: images, sounds and resources, as the result of a tool.

A tool that declares one of these types, or a list of them, as its output returns content. So does a tool that declares
no output and returns a list of blocks in this form. MCP clients get content in their own form, models as the images and
sounds that they can read, with a text that describes the others. Everywhere else it is JSON.
"""

import base64
import binascii
from typing import Annotated, Any, Literal, Self, TypeAlias, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

MAX_MEDIA = 10
"""Images and sounds of one result that a model gets."""
MAX_MEDIA_BYTES = 3_500_000
"""Bytes of an image or a sound that a model gets. Providers accept 5 MB in base64."""
Block: TypeAlias = dict[str, Any]
"""Content as JSON."""


class _Content(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, extra="forbid")


class Text(_Content):
    """A text beside other content."""

    type: Literal["text"] = "text"
    text: str


class _Media(_Content):
    data: str = Field(description="The bytes in base64")
    mime_type: str

    @classmethod
    def of(cls, content: bytes, mime_type: str) -> Self:
        """Make content from bytes."""
        return cls(data=base64.b64encode(content).decode(), mime_type=mime_type)


class Image(_Media):
    """An image."""

    type: Literal["image"] = "image"


class Audio(_Media):
    """A sound."""

    type: Literal["audio"] = "audio"


class TextResource(_Content):
    """A text that has an address."""

    uri: str
    mime_type: str = "text/plain"
    text: str


class BinaryResource(_Content):
    """Bytes that have an address."""

    uri: str
    mime_type: str
    blob: str = Field(description="The bytes in base64")

    @classmethod
    def of(cls, uri: str, content: bytes, mime_type: str) -> Self:
        """Make a resource from bytes."""
        return cls(uri=uri, blob=base64.b64encode(content).decode(), mime_type=mime_type)


class Embedded(_Content):
    """A resource within the result."""

    type: Literal["resource"] = "resource"
    resource: TextResource | BinaryResource


class Link(_Content):
    """The address of a resource that the client can read."""

    type: Literal["resource_link"] = "resource_link"
    uri: str
    name: str
    title: str | None = None
    mime_type: str | None = None
    description: str | None = None
    size: int | None = None


Content: TypeAlias = Annotated[Text | Image | Audio | Embedded | Link, Field(discriminator="type")]
"""Content of any type."""


def is_content(declared: Any) -> bool:
    """Return whether the declared output of a tool is content, or a list of content."""
    if declared.__class__ is type:  # a plain class: the usual case
        return False
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return is_content(arguments[0])
    if origin is list:
        return is_content(arguments[0])
    if origin in _UNIONS:
        return all(is_content(each) for each in arguments)
    return isinstance(declared, type) and issubclass(declared, Text | Image | Audio | Embedded | Link)


def declared_blocks(value: Any) -> list[Block]:
    """Return the blocks of a result whose tool declares content."""
    blocks = cast("list[Block]", value if isinstance(value, list) else [value])
    return [{name: each for name, each in block.items() if each is not None} for block in blocks]


def undeclared_blocks(value: Any) -> list[Block] | None:
    """Return the blocks of a result that is a list of blocks, not all of them texts; None for any other result."""
    if not isinstance(value, list):
        return None
    blocks = cast("list[Any]", value)
    kinds = [cast("Block", each).get("type") if isinstance(each, dict) else None for each in blocks]
    if not all(each in _KINDS for each in kinds) or all(each == "text" for each in kinds):
        return None
    try:
        _LIST.validate_python(blocks, by_name=False)
    except ValidationError:
        return None
    return declared_blocks(blocks)


def describe(blocks: list[Block]) -> str:
    """Return content as text, with a note in place of data."""
    return "\n\n".join(map(_described, blocks))


def texts(blocks: list[Block]) -> str:
    """Return only the texts of content."""
    return "\n\n".join(block["text"] for block in blocks if block["type"] == "text")


def readable_media(blocks: list[Block]) -> list[Block]:
    """Return the images and sounds that models read: of a common type, whose data has the form of that type."""
    return [block for block in blocks if block["type"] in ("image", "audio") and _is_readable(block)][:MAX_MEDIA]


def _is_readable(block: Block) -> bool:
    """Whether the data begins as its type does: a provider refuses the whole conversation for data that does not."""
    starts, data = _STARTS.get(block["mimeType"], ()), block["data"]
    if not starts or len(data) * 3 // 4 > MAX_MEDIA_BYTES:
        return False
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return any(decoded[offset : offset + len(start)] == start for offset, start in starts)


def _described(block: Block) -> str:
    match block["type"]:
        case "text":
            return str(block["text"])
        case "image" | "audio" as kind:
            return f"({kind}, {block['mimeType']}, {_size(block['data'])}; shown to the user)"
        case "resource_link":
            about = [str(block[name]) for name in ("title", "description") if block.get(name)]
            return f"(link to {block['name']}: {block['uri']}{': ' + ', '.join(about) if about else ''})"
        case "resource":
            inner = cast("Block", block["resource"])
            if isinstance(text := inner.get("text"), str):
                return f"(file {inner['uri']})\n{text}"
            return f"(file {inner['uri']}, {inner['mimeType']}, {_size(inner['blob'])}; shown to the user)"
        case _:
            return to_json(block).decode()


def _size(data: str) -> str:
    return f"{len(data) * 3 // 4:,} bytes"


_UNIONS = (Union, type(int | str))
_LIST: TypeAdapter[list[Content]] = TypeAdapter(list[Content])
_KINDS = ("text", "image", "audio", "resource", "resource_link")
_STARTS: dict[str, tuple[tuple[int, bytes], ...]] = {
    "image/png": ((0, b"\x89PNG\r\n\x1a\n"),),
    "image/jpeg": ((0, b"\xff\xd8\xff"),),
    "image/gif": ((0, b"GIF87a"), (0, b"GIF89a")),
    "image/webp": ((8, b"WEBP"),),
    "audio/wav": ((8, b"WAVE"),),
    "audio/mpeg": ((0, b"ID3"), (0, b"\xff\xfb"), (0, b"\xff\xf3"), (0, b"\xff\xf2")),
    "audio/ogg": ((0, b"OggS"),),
    "audio/flac": ((0, b"fLaC"),),
}
"""How the data of each type begins: at an offset, with these bytes."""
