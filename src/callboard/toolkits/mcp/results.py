"""Results and errors of a server, as values and `ToolError`. They are untrusted, and limited in size. No I/O."""

from typing import Any, cast

from mcp import types
from mcp.shared.exceptions import MCPError
from mcp_types import REQUEST_TIMEOUT
from pydantic import ValidationError

from callboard import ToolError, content

from .losses import is_loss

MAX_ERROR = 2_000
"""Characters of an error of a server that the model reads."""
MAX_BLOCKS = 1_000
_CATEGORIES = {
    types.INVALID_PARAMS: "validation",
    types.METHOD_NOT_FOUND: "not_found",
    REQUEST_TIMEOUT: "timeout",
}


def read_result(raw: dict[str, Any], *, server: str, declared: bool, max_bytes: int) -> Any:
    """Return the value of a result: structured content, text, or a list of content blocks. Raises `ToolError`.

    `declared` says that the tool has an output schema, which its structured content must fit; the tool checks that.
    """
    if _size(raw) > max_bytes:
        raise ToolError(
            f"The result of the MCP server {server} is larger than {max_bytes:,} bytes. Ask for less.",
            category="permanent",
        )
    try:
        result = types.CallToolResult.model_validate(raw, by_name=False)
    except ValidationError as error:
        raise bad_result(server, str(error)) from None
    if len(result.content) > MAX_BLOCKS:
        raise bad_result(server, f"{len(result.content):,} blocks of content")
    if result.is_error:
        raise ToolError(_error_text(result), report=f"an error result of {server}")
    if declared:
        if result.structured_content is None:
            raise bad_result(server, "it declares an output schema, and there is no structured content")
        return result.structured_content
    blocks = result.content
    if result.structured_content is not None and all(isinstance(each, types.TextContent) for each in blocks):
        return result.structured_content  # the text repeats it
    if all(isinstance(each, types.TextContent) for each in blocks):
        return "\n\n".join(cast("types.TextContent", each).text for each in blocks)
    return [_block(each) for each in blocks]


def protocol_error(error: MCPError, server: str) -> ToolError:
    """Translate an error response, or the loss of a connection, while a call waited for its result."""
    if is_loss(error):
        message = f"The connection to the MCP server {server} was lost. It is not known whether the call took effect."
    else:
        message = f"The MCP server {server} refused the call: {error.message[:MAX_ERROR]}"
    category = "transient" if is_loss(error) else _CATEGORIES.get(error.code, "execution")
    return ToolError(message, category=category, report=f"{server}: {error.code} {error.message[:MAX_ERROR]}")


def bad_result(server: str, reason: str) -> ToolError:
    """Return the error for a result that breaks the rules of the protocol or of the tool's own schema."""
    message = f"The MCP server {server} answered with a result that is not valid."
    return ToolError(message, category="execution", report=f"{server}: {reason[:MAX_ERROR]}")


def _size(raw: dict[str, Any]) -> int:
    """Return about how many bytes a result has, without writing it."""
    size, waiting = 0, cast("list[Any]", [raw])
    while waiting:
        each = waiting.pop()
        size += 2
        if isinstance(each, str):
            size += _text_size(each)
        elif isinstance(each, int):
            size += each.bit_length() // 3
        elif isinstance(each, dict):
            fields = cast("dict[str, Any]", each)
            size += sum(map(_text_size, fields))
            waiting.extend(fields.values())
        elif isinstance(each, list):
            waiting.extend(cast("list[Any]", each))
    return size


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _error_text(result: types.CallToolResult) -> str:
    texts = [each.text for each in result.content if isinstance(each, types.TextContent)]
    text = "\n".join(texts).strip()
    if len(text) > MAX_ERROR:
        text = f"{text[: MAX_ERROR - 1]}…"
    return text or "The tool failed and gave no reason."


def _block(block: types.ContentBlock) -> dict[str, Any]:
    """Return a block of content in the form of `callboard.content`."""
    match block:
        case types.TextContent():
            made: Any = content.Text(text=block.text)
        case types.ImageContent():
            made = content.Image(data=block.data, mime_type=block.mime_type)
        case types.AudioContent():
            made = content.Audio(data=block.data, mime_type=block.mime_type)
        case types.ResourceLink():
            described = block.model_dump(include={"name", "title", "mime_type", "description", "size"})
            made = content.Link(uri=str(block.uri), **described)
        case types.EmbeddedResource():
            made = content.Embedded(resource=_resource(block.resource))
    return made.model_dump(mode="json", by_alias=True, exclude_none=True)


def _resource(resource: types.TextResourceContents | types.BlobResourceContents) -> Any:
    uri, kind = str(resource.uri), resource.mime_type
    if isinstance(resource, types.TextResourceContents):
        return content.TextResource(uri=uri, mime_type=kind or "text/plain", text=resource.text)
    return content.BinaryResource(uri=uri, mime_type=kind or "application/octet-stream", blob=resource.blob)
