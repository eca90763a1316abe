"""Which messages of the user a run brings that are new. Ids decide: not what a message says, nor where it stands.

A message is new if its id was never taken in this thread. Only what comes before a message of an assistant that is not
this thread's is left alone: it was said in another conversation, such as one that this server has lost. Pure functions.
"""

from collections.abc import Collection, Mapping, Sequence

from ...sessions.ids import MAX_ID, is_call_id
from ...shortening import shorten
from .lines import Line, Names, Window
from .refused import RunRefused
from .run_request import RunRequest

MAX_NEW = 50
"""How many new messages of the user a run may bring. They are stored in one write."""


class MessageNotTaken(RunRefused):
    """A message of the user belongs to another conversation, and the run brings nothing else."""

    code = "message_not_taken"


def distinct(lines: Sequence[Line]) -> list[Line]:
    """The messages of a client, each one of the user once, at its last place.

    Raises `RunRefused` for one id with two texts.
    """
    last: dict[str, Line] = {}
    for line in lines:
        if line.role == "user":
            if (known := last.get(line.id)) is not None and known.text != line.text:
                raise RunRefused(
                    f"Two messages of the user have the id {_shown(line.id)} and different texts. "
                    "Nothing was taken: give each message an id of its own."
                )
            last[line.id] = line
    return [line for line in lines if line.role != "user" or last[line.id] is line]


def unknown(lines: Sequence[Line], window: Window, remembered: Collection[str]) -> list[Line]:
    """The messages of the user that are neither in the window nor remembered: these may be new."""
    known = {line.id for line in window.lines if line.role == "user"}
    return [line for line in lines if line.role == "user" and line.id not in known and line.id not in remembered]


def last_words(lines: Sequence[Line]) -> list[Line]:
    """The messages of the user after the last one of an assistant."""
    last = max((place for place, line in enumerate(lines) if line.role == "assistant"), default=-1)
    return [line for line in lines[last + 1 :] if line.role == "user"]


def check_texts(lines: Sequence[Line], texts: Mapping[str, str]) -> None:
    """Refuse messages whose ids were taken with another text. Raises `RunRefused`."""
    for line in lines:
        if texts.get(line.id, line.text) != line.text:
            raise RunRefused(
                f"The message {_shown(line.id)} was taken before with another text. Nothing was taken: give a changed "
                "message a new id."
            )


def ours(lines: Sequence[Line], window: Window, names: Names) -> list[Line]:
    """The messages after the last one of an assistant that is not this thread's."""
    known = {line.id for line in window.lines if line.role == "assistant"}
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place]
        says = line.role == "assistant" and bool(line.text or line.calls)
        if says and line.id not in known and not names.knows(line.id):
            return list(lines[place + 1 :])
    return list(lines)


def check(new: Sequence[Line], run_request: RunRequest) -> None:
    """Refuse new messages that cannot be taken. Raises `RunRefused`."""
    if len(new) > MAX_NEW:
        raise RunRefused(
            f"A run brings at most {MAX_NEW} new messages of the user, and this one brings more. Nothing was taken: "
            "send them in several runs."
        )
    for line in new:
        if not is_call_id(line.id):
            raise RunRefused(f"The id of a message has 1 to {MAX_ID} printable characters.")
        if reason := run_request.refused.get(line.id):
            raise RunRefused(reason)
        if not line.text.strip():
            raise RunRefused("A message of the user is empty.")


def _shown(identity: str) -> str:
    return repr(shorten(identity, 80))
