"""A client's copy of a conversation: what it has, what it lacks, and what to send so that it has what the thread has.

The transcript is the truth. A client's list of messages is only compared with it, by the ids of messages and of calls.
Nothing here waits or sends.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from . import frames
from .thread_messages import MOST, MessageWindow, ThreadMessage


class ClientMessages:
    """The messages that one client has, in the client's order, kept up to date by the frames that are sent to it."""

    def __init__(self, lines: Sequence[ThreadMessage]) -> None:
        self.lines = list(lines)
        self._has: dict[tuple[str, str], ThreadMessage] = {}
        for line in self.lines:
            self._has.setdefault(line.key, line)
        self._told: list[ThreadMessage] = []
        """The transcript, from the beginning of the window on."""
        self._told_keys: set[tuple[str, str]] = set()
        self._whole = True
        self._speaking: ThreadMessage | None = None

    def compare(self, window: MessageWindow, least: int = MOST) -> None:
        """Hold it against the newest messages of the thread. A client that has `least` of them need not have more."""
        has = sum(not line.fresh for line in self.lines)
        cut = least <= has < len(window.lines)
        self._told = window.lines[len(window.lines) - has :] if cut else list(window.lines)
        self._told_keys = {line.key for line in self._told}
        self._whole = window.whole and not cut

    @property
    def told(self) -> Sequence[ThreadMessage]:
        """The transcript as far as it was compared and sent."""
        return self._told

    @property
    def speaking(self) -> str | None:
        """The id of the message of the model that is open, if one is."""
        return None if self._speaking is None else self._speaking.id

    @property
    def waiting(self) -> bool:
        """Whether the user said something that the model was not told yet."""
        return any(line.fresh and line.role == "user" for line in self.lines)

    @property
    def differs(self) -> bool:
        """Whether its newest messages are not those of the thread, what it has just brought aside.

        Where the window is not the whole thread, what the client has from before it is left alone.
        """
        mine = [line for line in self.lines if not line.fresh]
        if len(mine) < len(self._told) or (self._whole and len(mine) > len(self._told)):
            return True
        newest = mine[len(mine) - len(self._told) :]
        return not all(map(ThreadMessage.is_same, newest, self._told))

    def has_response(self, identity: str) -> bool:
        """Whether it has a message of the model with that id."""
        return ("assistant", identity) in self._has

    def replace(self, aside: Sequence[dict[str, Any]] = ()) -> list[bytes]:
        """Snapshots after which it has the window, and what the client has just brought. `aside` are its own messages.

        A client leaves messages whose ids it knows where they are, and appends the others. Where that would give
        another order, a first snapshot takes away what stands in the wrong place.
        """
        target = [self._as_known(line) for line in self._told]
        target += [line for line in self.lines if line.fresh]
        order = [line.id for line in target]
        wanted = set(order)
        kept = [line.id for line in self.lines if line.id in wanted]
        firm = next((place for place, both in enumerate(zip(kept, order, strict=False)) if both[0] != both[1]), None)
        shown = [line.message() for line in target]
        sent = [] if firm is None else [frames.messages_snapshot([*aside, *shown[:firm]])]
        self.lines = target
        self._has = {line.key: line for line in target}
        return [*sent, frames.messages_snapshot([*aside, *shown])]

    def catch_up(self, news: Sequence[ThreadMessage]) -> list[bytes]:
        """Frames for what was added to the transcript and the client does not have."""
        sent: list[bytes] = []
        for line in news:
            if line.key in self._told_keys:  # a call has one result
                continue
            self._told.append(line)
            self._told_keys.add(line.key)
            mine = self._has.get(line.key)
            if mine is None:
                self._send(line, sent)
            else:
                mine.fresh = False
                self._add_calls(mine, line, sent)
        return sent

    # What the model says, piece by piece

    def speak(self, identity: str, delta: str) -> list[bytes]:
        """The next piece of what the model says."""
        sent: list[bytes] = []
        if self._speaking is None:
            self._speaking = self._append(ThreadMessage(identity, "assistant"))
            sent.append(frames.text_start(identity))
        self._speaking.text += delta
        sent.append(frames.text_content(identity, delta))
        return sent

    def spoken(self, text: str | None) -> list[bytes]:
        """The open message is finished, and this is all of it. None: it was cut off, and its end is not known."""
        line, self._speaking = self._speaking, None
        if line is None:
            return []
        sent: list[bytes] = []
        if text is not None and text.startswith(line.text) and text != line.text:
            sent.append(frames.text_content(line.id, text[len(line.text) :]))
            line.text = text
        return [*sent, frames.text_end(line.id)]

    # Small steps

    def _send(self, line: ThreadMessage, sent: list[bytes]) -> None:
        """Send a whole message."""
        if line.call_id is not None:
            sent.append(frames.tool_result(line.id, line.call_id, line.text))
            self._insert(replace(line))
            return
        made = self._append(ThreadMessage(line.id, line.role, line.text))
        if line.text:
            sent += [
                frames.text_start(line.id, line.role),
                frames.text_content(line.id, line.text),
                frames.text_end(line.id),
            ]
        self._add_calls(made, line, sent)

    def _add_calls(self, mine: ThreadMessage, theirs: ThreadMessage, sent: list[bytes]) -> None:
        for call in theirs.calls[len(mine.calls) :]:
            sent.append(frames.tool_call(call.id, call.tool, call.arguments, mine.id))
            mine.calls.append(call)

    def _append(self, line: ThreadMessage) -> ThreadMessage:
        self.lines.append(line)
        self._has[line.key] = line
        return line

    def _insert(self, line: ThreadMessage) -> None:
        """Put a result where a client puts it: after its call, and the results that stand there."""
        self._has[line.key] = line
        for place in range(len(self.lines) - 1, -1, -1):
            if any(call.id == line.call_id for call in self.lines[place].calls):
                place += 1
                while place < len(self.lines) and self.lines[place].role == "tool":
                    place += 1
                self.lines.insert(place, line)
                return
        self.lines.append(line)

    def _as_known(self, line: ThreadMessage) -> ThreadMessage:
        """A message of the thread; a result under the id that the client has given it."""
        mine = self._has.get(line.key) if line.call_id is not None else None
        return replace(line, id=line.id if mine is None else mine.id, calls=list(line.calls))
