"""What a client sends along with a run for tools and model: `context` and `forwardedProps`, held against bounds."""

from typing import Any, cast

from ag_ui.core import RunAgentInput
from pydantic_core import to_json

from ...tools.context import ClientContext, ContextItem
from .run_refused import RunRefused
from .thread_messages import MOST

MAX_CONTEXT_ITEMS = 256
MAX_CONTEXT_CHARACTERS = 128 * 1024
MAX_FORWARDED_BYTES = 128 * 1024


def client_context(given: RunAgentInput) -> ClientContext | None:
    """What tools and the model are given of a client's run. None where it brings nothing. Raises `RunRefused`.

    The model sees `context`, and of `forwardedProps` only `callboard.context`: clients put credentials there.
    """
    items = [ContextItem(each.description, each.value) for each in given.context or ()]
    forwarded: Any = given.forwarded_props
    shown = _own(forwarded).get("context")
    if isinstance(shown, dict):
        items += [ContextItem(str(name), _text(value)) for name, value in cast("dict[Any, Any]", shown).items()]
    elif shown is not None:
        raise RunRefused("forwardedProps.callboard.context is an object: names, and what the model is told of them.")
    if len(items) > MAX_CONTEXT_ITEMS:
        raise RunRefused(f"A run has at most {MAX_CONTEXT_ITEMS} items of context, and this one has {len(items):,}.")
    if sum(len(each.description) + len(each.value) for each in items) > MAX_CONTEXT_CHARACTERS:
        raise RunRefused(f"The context of a run has at most {MAX_CONTEXT_CHARACTERS:,} characters.")
    if forwarded is not None and len(to_json(forwarded)) > MAX_FORWARDED_BYTES:
        raise RunRefused(f"The forwardedProps of a run have at most {MAX_FORWARDED_BYTES:,} bytes as JSON.")
    return ClientContext(tuple(items), forwarded) if items or forwarded else None


def wanted_messages(given: RunAgentInput) -> int | None:
    """How many of the newest messages a page wants: `forwardedProps.callboard.messages`. Raises `RunRefused`."""
    wanted = _own(given.forwarded_props).get("messages")
    if wanted is None:
        return None
    if not isinstance(wanted, int) or isinstance(wanted, bool) or not 1 <= wanted <= MOST:
        raise RunRefused(f"forwardedProps.callboard.messages is a number from 1 to {MOST:,}.")
    return wanted


def _own(forwarded: Any) -> dict[str, Any]:
    """The part of `forwardedProps` that is meant for this server."""
    own = cast("dict[str, Any]", forwarded).get("callboard") if isinstance(forwarded, dict) else None
    return cast("dict[str, Any]", own) if isinstance(own, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
