"""The port of stored turns and inputs."""

from collections.abc import Collection
from typing import Protocol

from .rows import InputRow, TurnRow


class ConversationRecords(Protocol):
    """Reads the turns and inputs of conversations. `Change.turns` and `Change.inputs` write them."""

    async def turn(self, session_id: str, number: int) -> TurnRow | None:
        """Return a turn of a session by its number; None if it does not exist."""
        ...

    async def running_turns(self, session_ids: Collection[str]) -> list[TurnRow]:
        """Return the turns of these sessions that have not ended, by session and number."""
        ...

    async def inputs(self, session_id: str, ids: Collection[str]) -> list[InputRow]:
        """Return those of the given inputs that are stored, delivered or not, by id."""
        ...
