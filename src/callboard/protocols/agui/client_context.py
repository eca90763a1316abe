"""The context that a client sends with a run for tools and the model: `context` and `forwardedProps`, within limits."""

from typing import Any, cast

from ag_ui.core import RunAgentInput
from pydantic_core import to_json

from ...tools.context import ClientContext, ContextItem
from .run_refused import RunRefused
from .thread_messages import MAX_WINDOW

MAX_CONTEXT_ITEMS = 256
MAX_CONTEXT_CHARACTERS = 128 * 1024
MAX_FORWARDED_BYTES = 128 * 1024


def client_context(given: RunAgentInput) -> ClientContext | None:
    """Return the client context of a run, or None. Raises `RunRefused`.

    The model sees `context`, and of `forwardedProps` only `callboard.context`, because clients put credentials there.
    """
    items = [ContextItem(each.description, each.value) for each in given.context or ()]
    forwarded: Any = given.forwarded_props
    visible = _own(forwarded).get("context")
    if isinstance(visible, dict):
        items += [ContextItem(str(name), _text(value)) for name, value in cast("dict[Any, Any]", visible).items()]
    elif visible is not None:
        raise RunRefused("forwardedProps.callboard.context must be an object of names and values for the model.")
    if len(items) > MAX_CONTEXT_ITEMS:
        raise RunRefused(f"A run may have at most {MAX_CONTEXT_ITEMS} context items, and this one has {len(items):,}.")
    if sum(len(each.description) + len(each.value) for each in items) > MAX_CONTEXT_CHARACTERS:
        raise RunRefused(f"The context of a run may have at most {MAX_CONTEXT_CHARACTERS:,} characters.")
    if forwarded is not None and len(to_json(forwarded)) > MAX_FORWARDED_BYTES:
        raise RunRefused(f"The forwardedProps of a run may have at most {MAX_FORWARDED_BYTES:,} bytes of JSON.")
    return ClientContext(tuple(items), forwarded) if items or forwarded else None


def wanted_messages(given: RunAgentInput) -> int | None:
    """Return the number of newest messages that a page requests, if any. Raises `RunRefused`.

    The page sends it as `forwardedProps.callboard.messages`.
    """
    wanted = _own(given.forwarded_props).get("messages")
    if wanted is None:
        return None
    if not isinstance(wanted, int) or isinstance(wanted, bool) or not 1 <= wanted <= MAX_WINDOW:
        raise RunRefused(f"forwardedProps.callboard.messages must be a number from 1 to {MAX_WINDOW:,}.")
    return wanted


def _own(forwarded: Any) -> dict[str, Any]:
    """Return the part of `forwardedProps` for this server."""
    own = cast("dict[str, Any]", forwarded).get("callboard") if isinstance(forwarded, dict) else None
    return cast("dict[str, Any]", own) if isinstance(own, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
