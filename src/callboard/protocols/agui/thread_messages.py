"""The messages of a thread in AG-UI's form, built from its transcript.

Each entry of the transcript yields its own messages, which no later entry changes. So the newest messages cost the same
for a conversation of any length, and a run reads only added entries.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_core import to_json

from ...chat.messages import FindTool, display_arguments
from ...chat.rendering import TASK_RESULT, late_id
from ...chat.transcript import CallAnswer, Entry, Input, LateResult, Note, Reply
from ...content import texts
from ...sessions.live_session import LiveSession

WINDOW = 200
"""Newest messages that a page gets by default."""
MAX_WINDOW = 1_000
MAX_CHARACTERS = 1_000_000
"""Characters of a window, except for the messages of its newest entry."""

_FAILED = "The call failed; its content says why."


@dataclass(slots=True)
class ToolCall:
    """A call that the model made."""

    id: str
    tool: str
    arguments: str
    """JSON."""


@dataclass(slots=True)
class ThreadMessage:
    """A message of the user, of the model with its calls, or the result of a call."""

    id: str
    role: str
    text: str = ""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    call_id: str | None = None
    """The call of a result."""
    failed: bool = False
    is_new: bool = False
    """Whether the client has sent it with this run, and the transcript does not have it yet."""

    @property
    def key(self) -> tuple[str, str]:
        """The identity of a message: the call of a result, else its role and id."""
        return ("tool", self.call_id) if self.call_id is not None else (self.role, self.id)

    @property
    def size(self) -> int:
        return len(self.text) + sum(len(call.arguments) for call in self.calls)

    def is_same(self, other: "ThreadMessage") -> bool:
        """Whether two copies agree. The content of a result is not compared, as the client may format it."""
        if self.key != other.key:
            return False
        calls = [call.id for call in self.calls] == [call.id for call in other.calls]
        return calls and (self.call_id is not None or self.text == other.text)

    def to_agui(self) -> dict[str, Any]:
        """Return the message in AG-UI's form."""
        written: dict[str, Any] = {"id": self.id, "role": self.role}
        if self.call_id is not None:
            failed = {"error": _FAILED} if self.failed else {}
            return {**written, "content": self.text, "toolCallId": self.call_id, **failed}
        if self.text or self.role == "user":
            written["content"] = self.text
        if self.calls:
            written["toolCalls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
                for call in self.calls
            ]
        return written


class MessageIds:
    """The ids of a thread's messages, which are the same for every page and process.

    A message of a client keeps its id. Other ids derive from the position in the session; a session that was deleted
    and created again has different ones.
    """

    def __init__(self, session: LiveSession) -> None:
        made = f"{session.id}\0{session.created_at!r}".encode(errors="surrogatepass")
        self._prefix = f"cb-{hashlib.sha256(made).hexdigest()[:10]}-"

    def owns(self, identity: str) -> bool:
        """Whether an id was generated for this session."""
        return identity.startswith(self._prefix)

    def response(self, number: int) -> str:
        """Return the id of a response of the model, counted from 1, also while it is streamed."""
        return f"{self._prefix}a{number}"

    def input(self, entry: Input | Note) -> str:
        given = entry.message_id if isinstance(entry, Input) else ""
        return given or f"{self._prefix}u{entry.seq}"

    def late(self, execution_id: str) -> str:
        return f"{self._prefix}l{execution_id}"

    def result(self, call_id: str) -> str:
        return f"{self._prefix}r{call_id}"


@dataclass(frozen=True, slots=True)
class MessageWindow:
    """The newest messages of a thread."""

    messages: list[ThreadMessage]
    whole: bool
    """Whether the thread has no older messages."""


class ThreadReader:
    """Reads the messages of a session: a window of the newest, then added ones."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self.ids = MessageIds(session)
        self._read = 0
        """The number of entries read so far."""

    async def window(self, limit: int = WINDOW) -> MessageWindow:
        """Return about `limit` newest messages, and at least those of the last entry."""
        entries, number = await self._entries()
        self._read = len(entries)
        parts: list[list[ThreadMessage]] = []
        count = size = 0
        at = len(entries)
        find = self._session.toolbox.known
        # a window does not begin with a result, without its call
        while at and (not count or (count < limit and size < MAX_CHARACTERS) or isinstance(entries[at], CallAnswer)):
            at -= 1
            messages = self._messages(entries[at], number, find)
            number -= isinstance(entries[at], Reply)
            parts.append(messages)
            count += len(messages)
            size += sum(message.size for message in messages)
        return MessageWindow([message for part in reversed(parts) for message in part], not at)

    async def texts(self, ids: Collection[str], window: MessageWindow) -> dict[str, str]:
        """Return the texts of user messages by id. If the window lacks one, all entries are searched."""
        found = {
            message.id: message.text for message in window.messages if message.role == "user" and message.id in ids
        }
        if missing := {identity for identity in ids if identity not in found}:
            entries, _ = await self._entries()
            said = (entry for entry in entries if isinstance(entry, Input) and entry.message_id in missing)
            found |= {entry.message_id: entry.text for entry in said}
        return found

    async def news(self) -> list[ThreadMessage]:
        """Return the messages of entries that were added since the last read."""
        entries, number = await self._entries()
        start, self._read = self._read, len(entries)
        new = entries[start:]
        number -= sum(isinstance(entry, Reply) for entry in new)
        found: list[ThreadMessage] = []
        find = self._session.toolbox.known
        for entry in new:
            number += isinstance(entry, Reply)
            found += self._messages(entry, number, find)
        return found

    async def _entries(self) -> tuple[Sequence[Entry], int]:
        return await self._session.conversation().entries()

    def _messages(self, entry: Entry, number: int, find: FindTool) -> list[ThreadMessage]:
        """Return the messages of an entry; `number` is the number of a response."""
        match entry:
            case Input() | Note():
                return [ThreadMessage(self.ids.input(entry), "user", entry.text)]
            case Reply(response=response):
                text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
                made = [part for part in response.parts if isinstance(part, ToolCallPart)]
                calls = [ToolCall(each.tool_call_id, each.tool_name, _arguments(each, find)) for each in made]
                return [ThreadMessage(self.ids.response(number), "assistant", text, calls)] if text or calls else []
            case CallAnswer():
                return [self._result(entry.call_id, entry.content, entry.failed)]
            case LateResult(execution_id=execution_id):
                call_id = late_id(execution_id)
                call = ToolCall(call_id, TASK_RESULT, to_json({"execution_id": execution_id}).decode())
                caller = ThreadMessage(self.ids.late(execution_id), "assistant", calls=[call])
                return [caller, self._result(call_id, entry.content, entry.failed)]
            case _:
                return []

    def _result(self, call_id: str, content: Any, failed: bool) -> ThreadMessage:
        if isinstance(content, list):  # content, which has a text that describes all of it
            content = texts(cast("list[Any]", content))
        text = content if isinstance(content, str) else to_json(content, inf_nan_mode="null").decode()
        return ThreadMessage(self.ids.result(call_id), "tool", text, call_id=call_id, failed=failed)


def _arguments(call: ToolCallPart, find: FindTool) -> str:
    return to_json(display_arguments(call, find), inf_nan_mode="strings").decode()


def unanswered(messages: Sequence[ThreadMessage]) -> list[str]:
    """Return the ids of calls without a result, in order."""
    answered = {message.call_id for message in messages}
    return [call.id for message in messages for call in message.calls if call.id not in answered]
