"""The cost of a turn does not grow with the length of the conversation (C5)."""

from collections.abc import Iterable
from typing import Any

import pytest

from callboard import Runtime
from callboard.chat import rendering
from callboard.sessions.conversation_scope import ConversationScope

from .scripted import TOOLS, Script, Step, talk_of

pytestmark = pytest.mark.anyio


class Counted:
    """Counts the entries that are rendered and read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts = self.lines = 0
        valid_parts, transcript = rendering.valid_parts, ConversationScope.transcript

        def count_parts(parts: Iterable[Any], ids: Any) -> list[Any]:
            given = list(parts)
            self.parts += len(given)
            return valid_parts(given, ids)

        async def count_lines(scope: ConversationScope, after: int = 0) -> list[bytes]:
            lines = await transcript(scope, after)
            self.lines += len(lines)
            return lines

        monkeypatch.setattr(rendering, "valid_parts", count_parts)
        monkeypatch.setattr(ConversationScope, "transcript", count_lines)

    def taken(self) -> tuple[int, int]:
        found = self.parts, self.lines
        self.parts = self.lines = 0
        return found


async def test_c5_a_turn_costs_the_same_after_many_turns(
    monkeypatch: pytest.MonkeyPatch, store_url: str, request: pytest.FixtureRequest
) -> None:
    many = 5_000 if request.config.getoption("--slow") else 150
    steps: list[list[Step]] = [[("add", '{"a":1,"b":2}')], ["Three."]]
    script = Script(*(steps[number % 2] for number in range(2 * many + 40)))
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        counted = Counted(monkeypatch)
        costs: list[tuple[int, int, int]] = []
        before = 0
        for number in range(many + 10):
            turn = await session.say(str(number))
            assert turn.text == "Three."
            added = talk_of(session)._history.rendering.added
            costs.append((added - before, *counted.taken()))
            before = added
            script.asked.clear()
        assert len(costs[0]) == 3
        assert set(costs[5:10]) == set(costs[-5:])
        await session.messages()
        assert counted.taken()[0] <= 3  # what was rendered is not rendered again
