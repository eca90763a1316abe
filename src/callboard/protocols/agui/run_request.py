"""The validated request for a run."""

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

from ...sessions.ids import MAX_ID, is_valid_id
from ...tools.context import ClientContext
from .client_context import client_context, wanted_messages
from .run_refused import RunRefused
from .thread_messages import ThreadMessage, ToolCall


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A client's request for a run."""

    thread_id: str
    run_id: str
    messages: list[ThreadMessage]
    """The client's copy of the conversation."""
    errors: dict[str, str]
    """The errors of calls that the page executed, by call id."""
    refused: dict[str, str]
    """The reasons why messages cannot be accepted, by message id."""
    client_only: list[dict[str, Any]]
    """The client's own system and developer messages, which the server returns and does not use."""
    tools: Sequence[Tool] = ()
    resume: Sequence[ResumeEntry] = ()
    state: Any = None
    protocol_version: str | None = None
    """The client's version of AG-UI; None before 1.0."""
    client: ClientContext | None = None
    """The client context for tools and the model."""
    wanted: int | None = None
    """The number of newest messages that the page requests, if any."""


def parse_run_request(given: RunAgentInput) -> RunRequest:
    """Validate the input of a run. Raises `RunRefused`."""
    for name, value in (("threadId", given.thread_id), ("runId", given.run_id)):
        if not is_valid_id(value):
            raise RunRefused(f"{name} must have 1 to {MAX_ID} printable characters.")
    reading = _MessageParser()
    for message in given.messages:
        reading.add(message)
    return RunRequest(
        given.thread_id,
        given.run_id,
        reading.messages,
        reading.errors,
        reading.refused,
        reading.client_only,
        given.tools or (),
        given.resume or (),
        given.state,
        given.protocol_version,
        client_context(given),
        wanted_messages(given),
    )


@dataclass(slots=True)
class _MessageParser:
    messages: list[ThreadMessage] = field(default_factory=list[ThreadMessage])
    errors: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    client_only: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def add(self, message: Message) -> None:
        match message:
            case UserMessage(id=identity, content=content):
                self.messages.append(ThreadMessage(identity, "user", self._text(identity, content)))
            case AssistantMessage(id=identity, content=content, tool_calls=calls):
                made = [ToolCall(call.id, call.function.name, call.function.arguments) for call in calls or ()]
                self.messages.append(ThreadMessage(identity, "assistant", content or "", made))
            case ToolMessage(id=identity, content=content, tool_call_id=call_id, error=error):
                text = self._text(identity, content)
                self.messages.append(ThreadMessage(identity, "tool", text, call_id=call_id, failed=error is not None))
                if error is not None:
                    self.errors[call_id] = error
            case SystemMessage() | DeveloperMessage():
                self.client_only.append({"id": message.id, "role": message.role, "content": message.content})
            case _:  # activities and reasoning, which a client keeps through snapshots
                pass

    def _text(self, identity: str, content: Any) -> str:
        if isinstance(content, str):
            return content
        if other := sorted({part.type for part in content if not isinstance(part, TextPart)}):
            self.refused[identity] = f"Only text is supported, and a message contains: {', '.join(other)}."
        return "\n".join(part.text for part in content if isinstance(part, TextPart))
