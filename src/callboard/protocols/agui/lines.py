"""The messages of a thread as AG-UI shows them, made of the newest entries of its transcript.

Each entry gives lines of its own, in the order of the transcript, and no later entry changes them. So a window of the
newest lines costs the same however long the conversation is, and a run that follows it reads only what is added.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_core import to_json

from ...chat.rendering import TASK_RESULT, late_id
from ...chat.transcript import Answered, Entry, Input, Late, Noted, Said
from ...execution.masking import shown_arguments
from ...sessions.live_session import LiveSession
from ...tools.definition import Tool

WINDOW = 200
"""How many of the newest messages a page gets that does not say otherwise."""
MOST = 1_000
"""How many it gets at most."""
MOST_CHARACTERS = 1_000_000
"""How much text the messages of a window have, but for those of the newest entry."""

_FAILED = "The call failed; its content says why."


@dataclass(slots=True)
class Call:
    """A call that the model made."""

    id: str
    tool: str
    arguments: str
    """As JSON."""


@dataclass(slots=True)
class Line:
    """One message: of the user, of the model with its calls, or the result of a call."""

    id: str
    role: str
    text: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    call_id: str | None = None
    """The call whose result it is."""
    failed: bool = False
    fresh: bool = False
    """Whether the client has just brought it, and the transcript does not have it yet."""

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by: a result by its call, any other message by its role and id."""
        return ("tool", self.call_id) if self.call_id is not None else (self.role, self.id)

    @property
    def size(self) -> int:
        return len(self.text) + sum(len(call.arguments) for call in self.calls)

    def is_same(self, other: "Line") -> bool:
        """Whether a client that has this has the other. A result is what the client made of it."""
        if self.key != other.key:
            return False
        calls = [call.id for call in self.calls] == [call.id for call in other.calls]
        return calls and (self.call_id is not None or self.text == other.text)

    def message(self) -> dict[str, Any]:
        """The message in AG-UI's form."""
        shown: dict[str, Any] = {"id": self.id, "role": self.role}
        if self.call_id is not None:
            failed = {"error": _FAILED} if self.failed else {}
            return {**shown, "content": self.text, "toolCallId": self.call_id, **failed}
        if self.text or self.role == "user":
            shown["content"] = self.text
        if self.calls:
            shown["toolCalls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
                for call in self.calls
            ]
        return shown


class Names:
    """The ids of a thread's messages. They are the same for every page, at every time and in every process.

    A message that a client sent keeps the client's id. All others are named by their place in this session; a session
    that was deleted and made again has other names.
    """

    def __init__(self, session: LiveSession) -> None:
        made = f"{session.id}\0{session.created_at!r}".encode(errors="surrogatepass")
        self._prefix = f"cb-{hashlib.sha256(made).hexdigest()[:10]}-"

    def knows(self, identity: str) -> bool:
        """Whether an id has the form of those that are made here."""
        return identity.startswith(self._prefix)

    def response(self, number: int) -> str:
        """The id of a response of the model, counted from 1, also while it is being streamed."""
        return f"{self._prefix}a{number}"

    def input(self, entry: Input | Noted) -> str:
        given = entry.message_id if isinstance(entry, Input) else ""
        return given or f"{self._prefix}u{entry.seq}"

    def late(self, execution_id: str) -> str:
        return f"{self._prefix}l{execution_id}"

    def result(self, call_id: str) -> str:
        return f"{self._prefix}r{call_id}"


@dataclass(frozen=True, slots=True)
class Window:
    """The newest messages of a thread."""

    lines: list[Line]
    whole: bool
    """Whether there are no others."""


class Lines:
    """Reads the messages of one session: a window first, then what is added to it."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self.names = Names(session)
        self._read = 0
        """How many entries were read."""

    async def window(self, limit: int = WINDOW) -> Window:
        """The newest messages: at least those of the last entry that has any, else at most so many."""
        entries, number = await self._entries()
        self._read = len(entries)
        parts: list[list[Line]] = []
        count = size = 0
        at = len(entries)
        find = self._session.tools().get
        while at and (not count or (count < limit and size < MOST_CHARACTERS)):
            at -= 1
            lines = self._lines(entries[at], number, find)
            number -= isinstance(entries[at], Said)
            parts.append(lines)
            count += len(lines)
            size += sum(line.size for line in lines)
        while at and isinstance(entries[at], Answered):  # with the call that it answers
            at -= 1
            parts.append(self._lines(entries[at], number, find))
            number -= isinstance(entries[at], Said)
        return Window([line for part in reversed(parts) for line in part], not at)

    async def texts(self, ids: Collection[str], window: Window) -> dict[str, str]:
        """What messages of the user say, by their ids. Where the window lacks one, all entries are looked through."""
        found = {line.id: line.text for line in window.lines if line.role == "user" and line.id in ids}
        if missing := {identity for identity in ids if identity not in found}:
            entries, _ = await self._entries()
            said = (entry for entry in entries if isinstance(entry, Input) and entry.message_id in missing)
            found |= {entry.message_id: entry.text for entry in said}
        return found

    async def news(self) -> list[Line]:
        """The messages of the entries that were added since."""
        entries, number = await self._entries()
        start, self._read = self._read, len(entries)
        new = entries[start:]
        number -= sum(isinstance(entry, Said) for entry in new)
        found: list[Line] = []
        find = self._session.tools().get
        for entry in new:
            number += isinstance(entry, Said)
            found += self._lines(entry, number, find)
        return found

    async def _entries(self) -> tuple[Sequence[Entry], int]:
        return await self._session.conversation().entries()

    def _lines(self, entry: Entry, number: int, find: Callable[[str], Tool | None]) -> list[Line]:
        """The messages of one entry; `number` is that of the response, where it is one."""
        match entry:
            case Input() | Noted():
                return [Line(self.names.input(entry), "user", entry.text)]
            case Said(response=response):
                text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
                made = [part for part in response.parts if isinstance(part, ToolCallPart)]
                calls = [Call(each.tool_call_id, each.tool_name, _arguments(each, find)) for each in made]
                return [Line(self.names.response(number), "assistant", text, calls)] if text or calls else []
            case Answered():
                return [self._result(entry.call_id, entry.content, entry.failed)]
            case Late(execution_id=execution_id):
                call_id = late_id(execution_id)
                call = Call(call_id, TASK_RESULT, to_json({"execution_id": execution_id}).decode())
                run_request = Line(self.names.late(execution_id), "assistant", calls=[call])
                return [run_request, self._result(call_id, entry.content, entry.failed)]
            case _:
                return []

    def _result(self, call_id: str, content: Any, failed: bool) -> Line:
        text = content if isinstance(content, str) else to_json(content, inf_nan_mode="null").decode()
        return Line(self.names.result(call_id), "tool", text, call_id=call_id, failed=failed)


def _arguments(call: ToolCallPart, find: Callable[[str], Tool | None]) -> str:
    document, tool = to_json(call.args_as_dict(), inf_nan_mode="strings"), find(call.tool_name)
    return (document if tool is None or not tool.has_secrets else shown_arguments(tool, document)).decode()


def unanswered(lines: Sequence[Line]) -> list[str]:
    """The calls that have no result, in order."""
    answered = {line.call_id for line in lines}
    return [call.id for line in lines for call in line.calls if call.id not in answered]
