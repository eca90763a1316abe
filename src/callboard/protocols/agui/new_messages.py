"""The new user messages of a run, found by their ids and not by text or position.

A message is new if this thread never accepted its id. Messages before an assistant message of another thread are
ignored: they belong to another conversation, such as one that this server has lost. Pure functions.
"""

from collections.abc import Collection, Mapping, Sequence

from ...sessions.ids import MAX_ID, is_valid_id
from ...shortening import shorten
from .run_refused import RunRefused
from .run_request import RunRequest
from .thread_messages import MessageIds, MessageWindow, ThreadMessage

MAX_NEW = 50
"""New user messages in one run. They are stored in one write."""


class MessageRejected(RunRefused):
    """A user message belongs to another conversation, and the run contains nothing else."""

    code = "message_not_taken"


def distinct(messages: Sequence[ThreadMessage]) -> list[ThreadMessage]:
    """Return a client's messages with each user message once, at its last position.

    Raises `RunRefused` for an id with two texts.
    """
    last: dict[str, ThreadMessage] = {}
    for message in messages:
        if message.role == "user":
            if (known := last.get(message.id)) is not None and known.text != message.text:
                raise RunRefused(
                    f"Two user messages with different texts have the id {_quoted(message.id)}. "
                    "Nothing was accepted: give each message its own id."
                )
            last[message.id] = message
    return [message for message in messages if message.role != "user" or last[message.id] is message]


def unseen(
    messages: Sequence[ThreadMessage], window: MessageWindow, remembered: Collection[str]
) -> list[ThreadMessage]:
    """Return the user messages that are neither in the window nor remembered, and so may be new."""
    known = {message.id for message in window.messages if message.role == "user"}
    return [
        message
        for message in messages
        if message.role == "user" and message.id not in known and message.id not in remembered
    ]


def trailing(messages: Sequence[ThreadMessage]) -> list[ThreadMessage]:
    """Return the user messages after the last assistant message."""
    last = max((place for place, message in enumerate(messages) if message.role == "assistant"), default=-1)
    return [message for message in messages[last + 1 :] if message.role == "user"]


def check_texts(messages: Sequence[ThreadMessage], texts: Mapping[str, str]) -> None:
    """Refuse messages whose ids were accepted with another text. Raises `RunRefused`."""
    for message in messages:
        if texts.get(message.id, message.text) != message.text:
            raise RunRefused(
                f"The message {_quoted(message.id)} was accepted before with another text. Nothing was accepted: give "
                "a changed message a new id."
            )


def of_this_thread(messages: Sequence[ThreadMessage], window: MessageWindow, ids: MessageIds) -> list[ThreadMessage]:
    """Return the messages after the last assistant message of another thread."""
    known = {message.id for message in window.messages if message.role == "assistant"}
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        says = message.role == "assistant" and bool(message.text or message.calls)
        if says and message.id not in known and not ids.owns(message.id):
            return list(messages[place + 1 :])
    return list(messages)


def check_new(new: Sequence[ThreadMessage], run_request: RunRequest) -> None:
    """Refuse new messages that are invalid. Raises `RunRefused`."""
    if len(new) > MAX_NEW:
        raise RunRefused(
            f"A run may contain at most {MAX_NEW} new user messages, and this one contains more. Nothing was "
            "accepted: send them in several runs."
        )
    for message in new:
        if not is_valid_id(message.id):
            raise RunRefused(f"The id of a message must have 1 to {MAX_ID} printable characters.")
        if reason := run_request.refused.get(message.id):
            raise RunRefused(reason)
        if not message.text.strip():
            raise RunRefused("A user message is empty.")


def _quoted(identity: str) -> str:
    return repr(shorten(identity, 80))
