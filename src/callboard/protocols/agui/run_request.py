"""What a client asks for: a run, read and held against its bounds before anything is done about it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    DeveloperMessage,
    Message,
    ResumeEntry,
    RunAgentInput,
    SystemMessage,
    TextPart,
    Tool,
    ToolMessage,
    UserMessage,
)

from ...tools.context import ClientContext
from .client_context import client_context, wanted_messages
from .run_refused import RunRefused
from .thread_messages import ThreadMessage, ToolCall

MAX_ID = 200
"""How long the ids that a client chooses may be."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run that a client wants."""

    thread_id: str
    run_id: str
    lines: list[ThreadMessage]
    """The client's copy of the conversation, as it says."""
    errors: dict[str, str]
    """By call id, why a call failed that its page carried out."""
    refused: dict[str, str]
    """By message id, why a message of the user cannot be taken."""
    aside: list[dict[str, Any]]
    """Messages that are the client's own: instructions that it shows. Nobody here acts on them."""
    tools: Sequence[Tool] = ()
    resume: Sequence[ResumeEntry] = ()
    state: Any = None
    protocol_version: str | None = None
    """The version of AG-UI that the client speaks; None: one from before 1.0."""
    client: ClientContext | None = None
    """What the client sends along for tools and model."""
    wanted: int | None = None
    """How many of the newest messages the page wants to have, if it says so."""


def read(given: RunAgentInput) -> RunRequest:
    """What a client wants. Raises `RunRefused`."""
    for name, value in (("threadId", given.thread_id), ("runId", given.run_id)):
        if not (0 < len(value) <= MAX_ID and value.isprintable()):
            raise RunRefused(f"{name} has 1 to {MAX_ID} printable characters.")
    reading = _Reading()
    for message in given.messages:
        reading.take(message)
    return RunRequest(
        given.thread_id,
        given.run_id,
        reading.lines,
        reading.errors,
        reading.refused,
        reading.aside,
        given.tools or (),
        given.resume or (),
        given.state,
        given.protocol_version,
        client_context(given),
        wanted_messages(given),
    )


@dataclass(slots=True)
class _Reading:
    lines: list[ThreadMessage] = field(default_factory=list[ThreadMessage])
    errors: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    aside: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def take(self, message: Message) -> None:
        match message:
            case UserMessage(id=identity, content=content):
                self.lines.append(ThreadMessage(identity, "user", self._text(identity, content)))
            case AssistantMessage(id=identity, content=content, tool_calls=calls):
                made = [ToolCall(call.id, call.function.name, call.function.arguments) for call in calls or ()]
                self.lines.append(ThreadMessage(identity, "assistant", content or "", made))
            case ToolMessage(id=identity, content=content, tool_call_id=call_id, error=error):
                text = self._text(identity, content)
                self.lines.append(ThreadMessage(identity, "tool", text, call_id=call_id, failed=error is not None))
                if error is not None:
                    self.errors[call_id] = error
            case SystemMessage() | DeveloperMessage():
                self.aside.append({"id": message.id, "role": message.role, "content": message.content})
            case _:  # activities and thoughts, which a client keeps through every snapshot
                pass

    def _text(self, identity: str, content: Any) -> str:
        if isinstance(content, str):
            return content
        if other := sorted({part.type for part in content if not isinstance(part, TextPart)}):
            self.refused[identity] = f"Only text is taken here, and a message has: {', '.join(other)}."
        return "\n".join(part.text for part in content if isinstance(part, TextPart))
