"""What the tools of a session return to an agent of Pydantic AI."""

from typing import Any, cast

from ..execution.outcome import Outcome
from ..sessions.live_session import LiveSession
from ..tools.definition import as_text
from .media import with_files


def returned_value(session: LiveSession, outcome: Outcome) -> Any:
    """Return the value of a call, as data if the model reads it as it is.

    A value that is rendered for the channel, or longer than its tool's limit, is the text that a model of the runtime
    reads. Images and sounds are files.
    """
    shown, value = session.render_for_model(outcome), outcome.value
    if isinstance(shown, list):
        return with_files(cast("list[Any]", shown))
    return shown if isinstance(shown, str) and shown != as_text(value) else value
