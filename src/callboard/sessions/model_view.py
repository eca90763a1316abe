"""Outcomes as a model reads them: the acknowledgement, the error, or the result, rendered and cut."""

from typing import Any

from pydantic_core import to_json

from ..content import readable_media
from ..execution.outcome import Outcome
from ..tools.definition import Tool, as_text

DEFAULT_RESULT_LIMIT = 50_000
"""Largest number of characters of a result that a model reads if the tool sets no limit."""


def render_for_model(outcome: Outcome, tool: Tool | None, channel: str | None, offset: int = 0) -> Any:
    """Return an outcome as a model reads it.

    A result is text: a string as it is, any other value as JSON, and a long one cut. Content with images or sounds is a
    list of blocks: a text that describes all of it, and those. Acknowledgements and errors are data.
    """
    if outcome.error is not None:
        return outcome.error.to_model()
    if not outcome.done:
        return outcome.value
    text = render_text(outcome, tool, channel, offset)
    blocks = None if tool is None or offset else tool.content(outcome.value)
    media = [] if blocks is None else readable_media(blocks)
    return [{"type": "text", "text": text}, *media] if media else text


def render_text(
    outcome: Outcome, tool: Tool | None, channel: str | None, offset: int = 0, length: int | None = None
) -> str:
    """Return an outcome as text: an excerpt if it is long, or the part that `offset` and `length` select."""
    text, limit = _text(outcome, tool, channel), (tool and tool.result_limit) or DEFAULT_RESULT_LIMIT
    if offset or length is not None:
        start = max(0, offset)
        return text[start : start + max(0, min(limit if length is None else length, limit))]
    return excerpt(text, limit, outcome.execution_id)


def _text(outcome: Outcome, tool: Tool | None, channel: str | None) -> str:
    if outcome.error is not None:
        return to_json(outcome.error.to_model(), inf_nan_mode="null").decode()
    if tool is None or not outcome.done:
        return as_text(outcome.value)
    return tool.render(outcome.value, channel)


def excerpt(text: str, limit: int, execution_id: str) -> str:
    """Return the text, or at most `limit` characters of it around a note that says how to read the rest."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    cut = len(text) - limit
    note = (
        f"\n[… {cut:,} of {len(text):,} characters left out here. Read on with task_result: "
        f'execution_id "{execution_id}", offset {head} …]\n'
    )
    return f"{text[:head]}{note}{text[-tail:] if tail else ''}"
