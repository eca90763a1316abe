"""The client's copy of a conversation: what it has, what it lacks, and what to send so that it has what the model has.

The transcript is the truth. A client's list of messages is only ever compared with it: ids are the client's own affair,
what counts is who said what, and which call has its result. Nothing here waits or sends.
"""

import secrets
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import to_json

from ...chat.rendering import CUT_OFF
from ...execution.masking import shown_arguments
from ...tools.definition import Tool
from . import frames

PREFIX = "agui-"
"""What the ids of messages begin with that were made here."""
ALL = sys.maxsize


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
    """Whose result it is."""
    failed: bool = False
    fresh: bool = False
    """Whether the user has just said it, and the model was not told yet."""

    def is_part_of(self, other: "Line") -> bool:
        """Whether this is the same message, perhaps with fewer calls."""
        if self.role != other.role:
            return False
        if self.role == "tool":
            return self.call_id == other.call_id
        mine, theirs = [call.id for call in self.calls], [call.id for call in other.calls]
        return self.text == other.text and theirs[: len(mine)] == mine

    def is_same(self, other: "Line") -> bool:
        return self.is_part_of(other) and len(self.calls) == len(other.calls)

    def message(self) -> dict[str, Any]:
        """As AG-UI writes a message."""
        shown: dict[str, Any] = {"id": self.id, "role": self.role}
        if self.role == "tool":
            return {
                **shown,
                "content": self.text,
                "toolCallId": self.call_id,
                **({"error": _FAILED} if self.failed else {}),
            }
        if self.text or self.role == "user":
            shown["content"] = self.text
        if self.calls:
            shown["toolCalls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
                for call in self.calls
            ]
        return shown


_FAILED = "The call failed; its content says why."


def lines_of(messages: Iterable[dict[str, Any]], find: Callable[[str], Tool | None]) -> list[Line]:
    """A session's messages. A call that goes on, or waits for a person, has no result yet. Secrets are masked."""
    lines: list[Line] = []
    for each in messages:
        match each["role"]:
            case "assistant":
                calls = [
                    Call(call["call_id"], call["tool"], _arguments(call["arguments"], find(call["tool"])))
                    for call in each["calls"]
                ]
                lines.append(Line(each["id"], "assistant", each["text"], calls))
            case "tool":
                if each["content"] != CUT_OFF:
                    content: Any = each["content"]
                    text = content if isinstance(content, str) else to_json(content, inf_nan_mode="null").decode()
                    lines.append(Line(each["id"], "tool", text, call_id=each["call_id"], failed=each["failed"]))
            case _:
                lines.append(Line(each["id"], "user", each["text"]))
    return lines


def _arguments(given: Any, tool: Tool | None) -> str:
    document = to_json(given, inf_nan_mode="strings")
    return (document if tool is None or not tool.has_secrets else shown_arguments(tool, document)).decode()


class Copy:
    """What one client has, kept up to date by the frames that are sent to it."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = list(lines)
        self._firm = ALL
        """How many of its messages it has in just this order; after them only a snapshot helps."""
        self._prefix = f"{PREFIX}{secrets.token_hex(6)}"
        self._count = 0
        self._speaking: Line | None = None

    @property
    def astray(self) -> bool:
        """Whether its order or its words are not those of the transcript."""
        return self._firm != ALL

    @property
    def speaking(self) -> bool:
        """Whether a message of the model is open."""
        return self._speaking is not None

    @property
    def waiting(self) -> bool:
        """Whether the user said something that the model was not told yet."""
        return any(line.fresh for line in self.lines)

    def differs(self, theirs: Sequence[Line]) -> bool:
        """Whether it is not the transcript, what the user has just said aside."""
        mine = [line for line in self.lines if not line.fresh]
        return len(mine) != len(theirs) or not all(map(Line.is_same, mine, theirs))

    def replace(self, theirs: Sequence[Line], aside: Sequence[dict[str, Any]] = ()) -> bytes:
        """A snapshot of the whole transcript, after which the client has just that, and what the user has just said.

        A client leaves messages whose ids it knows where they are, and puts the others after them. So what it has in
        the same order from the beginning keeps its ids, and all the rest gets new ones. `aside` are messages of
        its own.
        """
        new: list[Line] = []
        same = True
        for place, line in enumerate(theirs):
            old = self.lines[place] if same and place < min(self._firm, len(self.lines)) else None
            same = old is not None and not old.fresh and old.is_part_of(line)
            identity = old.id if same and old is not None else self._new_id()
            new.append(replace(line, id=identity, calls=list(line.calls)))
        fresh = [line if same else replace(line, id=self._new_id()) for line in self.lines if line.fresh]
        self.lines = [*new, *fresh]
        self._firm = ALL
        return frames.messages_snapshot([*aside, *(line.message() for line in self.lines)])

    def keep(self, line: Line) -> None:
        """The client has the result of a call already: it stands after the call and its siblings, and is not sent."""
        for place, each in enumerate(self.lines):
            if any(call.id == line.call_id for call in each.calls):
                place += 1
                while place < len(self.lines) and self.lines[place].role == "tool":
                    place += 1
                self.lines.insert(place, line)
                return

    def catch_up(self, theirs: Sequence[Line]) -> list[bytes]:
        """Frames for what the transcript has and the client has not."""
        sent: list[bytes] = []
        for place, line in enumerate(theirs):
            mine = self.lines[place] if place < len(self.lines) else None
            if mine is not None and mine.is_part_of(line):
                mine.fresh = False
                self._add_calls(mine, line, sent)
            elif (had := self._result(line)) is not None:
                self.lines.remove(had)
                self.lines.insert(place, had)
                self._doubt(place)
            elif line.role == "tool" or mine is None or mine.fresh:
                if mine is not None and (line.role != "tool" or mine.role == "tool"):
                    self._doubt(place)  # a client puts a message at its end, and a result after those of its siblings
                self.lines.insert(place, self._send(line, sent))
            else:
                self._doubt(place)
                break
        return sent

    def _result(self, line: Line) -> Line | None:
        """The same result, wherever it stands: a call's is never sent twice."""
        if line.call_id is None:
            return None
        return next((each for each in self.lines if each.call_id == line.call_id), None)

    # What the model says, piece by piece

    def speak(self, delta: str) -> list[bytes]:
        """The next piece of what the model says."""
        sent: list[bytes] = []
        if self._speaking is None:
            self._speaking = Line(self._new_id(), "assistant")
            sent.append(frames.text_start(self._speaking.id))
        self._speaking.text += delta
        sent.append(frames.text_content(self._speaking.id, delta))
        return sent

    def spoken(self, text: str | None) -> list[bytes]:
        """The message is finished, and this is all of it. None: it was cut off, and nobody knows it."""
        line, self._speaking = self._speaking, None
        if line is None:
            return []
        sent: list[bytes] = []
        if text is not None and text != line.text:
            if text.startswith(line.text):
                sent.append(frames.text_content(line.id, text[len(line.text) :]))
            else:
                self._doubt(len(self.lines))
            line.text = text
        place = next((place for place, each in enumerate(self.lines) if each.fresh), len(self.lines))
        if place < len(self.lines):
            self._doubt(place)
        self.lines.insert(place, line)
        return [*sent, frames.text_end(line.id)]

    def _send(self, line: Line, sent: list[bytes]) -> Line:
        """Send a whole message."""
        made = Line(self._new_id(), line.role, line.text, call_id=line.call_id, failed=line.failed)
        if line.call_id is not None:
            sent.append(frames.tool_result(made.id, line.call_id, line.text))
            return made
        if line.text or not line.calls:
            sent += [
                frames.text_start(made.id, made.role),
                frames.text_content(made.id, line.text),
                frames.text_end(made.id),
            ]
        self._add_calls(made, line, sent)
        return made

    def _add_calls(self, mine: Line, theirs: Line, sent: list[bytes]) -> None:
        for call in theirs.calls[len(mine.calls) :]:
            sent.append(frames.tool_call(call.id, call.tool, call.arguments, mine.id))
            mine.calls.append(call)

    def _doubt(self, place: int) -> None:
        self._firm = min(place, self._firm)

    def _new_id(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"
