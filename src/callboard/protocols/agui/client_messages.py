"""A client's copy of a conversation, and the frames that bring it up to date.

The transcript is authoritative; a client's messages are only compared with it, by the ids of messages and calls. No
I/O.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from . import frames
from .thread_messages import MAX_WINDOW, MessageWindow, ThreadMessage


class ClientMessages:
    """The messages of one client in its own order, updated with each frame that is sent to it."""

    def __init__(self, messages: Sequence[ThreadMessage]) -> None:
        self.messages = list(messages)
        self._has: dict[tuple[str, str], ThreadMessage] = {}
        for message in self.messages:
            self._has.setdefault(message.key, message)
        self._thread: list[ThreadMessage] = []
        """The messages of the transcript from the window's start."""
        self._thread_keys: set[tuple[str, str]] = set()
        self._whole = True
        self._speaking: ThreadMessage | None = None

    def compare(self, window: MessageWindow, least: int = MAX_WINDOW) -> None:
        """Compare with the newest messages of the thread. A client with at least `least` of them needs no more."""
        has = sum(not message.is_new for message in self.messages)
        cut = least <= has < len(window.messages)
        self._thread = window.messages[len(window.messages) - has :] if cut else list(window.messages)
        self._thread_keys = {message.key for message in self._thread}
        self._whole = window.whole and not cut

    @property
    def thread(self) -> Sequence[ThreadMessage]:
        """The messages of the transcript that were compared or sent."""
        return self._thread

    @property
    def open_message(self) -> str | None:
        """The id of the model's message that is being streamed, if any."""
        return None if self._speaking is None else self._speaking.id

    @property
    def has_new_input(self) -> bool:
        """Whether a user message is not in the transcript yet."""
        return any(message.is_new and message.role == "user" for message in self.messages)

    @property
    def differs(self) -> bool:
        """Whether its newest messages, without new ones, differ from the thread's.

        If the window is not the whole thread, older messages of the client are ignored.
        """
        mine = [message for message in self.messages if not message.is_new]
        if len(mine) < len(self._thread) or (self._whole and len(mine) > len(self._thread)):
            return True
        newest = mine[len(mine) - len(self._thread) :]
        return not all(map(ThreadMessage.is_same, newest, self._thread))

    def has_response(self, identity: str) -> bool:
        """Whether it has a message of the model with this id."""
        return ("assistant", identity) in self._has

    def replace(self, client_only: Sequence[dict[str, Any]] = ()) -> list[bytes]:
        """Return snapshots that replace its messages with the window and its new messages.

        `client_only` are the client's own messages. A client keeps messages of known ids in place and appends the
        others. If that would change the order, a first snapshot removes the misplaced messages.
        """
        target = [self._as_known(message) for message in self._thread]
        target += [message for message in self.messages if message.is_new]
        order = [message.id for message in target]
        wanted = set(order)
        kept = [message.id for message in self.messages if message.id in wanted]
        moved = next((index for index, both in enumerate(zip(kept, order, strict=False)) if both[0] != both[1]), None)
        written = [message.to_agui() for message in target]
        sent = [] if moved is None else [frames.messages_snapshot([*client_only, *written[:moved]])]
        self.messages = target
        self._has = {message.key: message for message in target}
        return [*sent, frames.messages_snapshot([*client_only, *written])]

    def catch_up(self, news: Sequence[ThreadMessage]) -> list[bytes]:
        """Return frames for new messages of the transcript that the client lacks."""
        sent: list[bytes] = []
        for message in news:
            if message.key in self._thread_keys:  # a call has one result
                continue
            self._thread.append(message)
            self._thread_keys.add(message.key)
            mine = self._has.get(message.key)
            if mine is None:
                self._send(message, sent)
            else:
                mine.is_new = False
                self._add_calls(mine, message, sent)
        return sent

    # Streamed text

    def add_text(self, identity: str, delta: str) -> list[bytes]:
        """Return frames for the next delta of the model's text."""
        sent: list[bytes] = []
        if self._speaking is None:
            self._speaking = self._append(ThreadMessage(identity, "assistant"))
            sent.append(frames.text_start(identity))
        self._speaking.text += delta
        sent.append(frames.text_content(identity, delta))
        return sent

    def end_text(self, text: str | None) -> list[bytes]:
        """Return frames that end the open message with its whole text, or as it is if the text is None."""
        message, self._speaking = self._speaking, None
        if message is None:
            return []
        sent: list[bytes] = []
        if text is not None and text.startswith(message.text) and text != message.text:
            sent.append(frames.text_content(message.id, text[len(message.text) :]))
            message.text = text
        return [*sent, frames.text_end(message.id)]

    # Details

    def _send(self, message: ThreadMessage, sent: list[bytes]) -> None:
        """Send a whole message."""
        if message.call_id is not None:
            sent.append(frames.tool_result(message.id, message.call_id, message.text))
            self._insert(replace(message))
            return
        made = self._append(ThreadMessage(message.id, message.role, message.text))
        if message.text:
            sent += [
                frames.text_start(message.id, message.role),
                frames.text_content(message.id, message.text),
                frames.text_end(message.id),
            ]
        self._add_calls(made, message, sent)

    def _add_calls(self, mine: ThreadMessage, theirs: ThreadMessage, sent: list[bytes]) -> None:
        for call in theirs.calls[len(mine.calls) :]:
            sent.append(frames.tool_call(call.id, call.tool, call.arguments, mine.id))
            mine.calls.append(call)

    def _append(self, message: ThreadMessage) -> ThreadMessage:
        self.messages.append(message)
        self._has[message.key] = message
        return message

    def _insert(self, message: ThreadMessage) -> None:
        """Insert a result as a client does: after its call and the results that follow it."""
        self._has[message.key] = message
        for place in range(len(self.messages) - 1, -1, -1):
            if any(call.id == message.call_id for call in self.messages[place].calls):
                place += 1
                while place < len(self.messages) and self.messages[place].role == "tool":
                    place += 1
                self.messages.insert(place, message)
                return
        self.messages.append(message)

    def _as_known(self, message: ThreadMessage) -> ThreadMessage:
        """Return a copy of a thread's message; a result gets the id that the client gave it."""
        mine = self._has.get(message.key) if message.call_id is not None else None
        return replace(message, id=message.id if mine is None else mine.id, calls=list(message.calls))
