"""The title of a live session: given by a person, or automatic."""

from typing import Any

from ..storage.change import TitleWrite
from ..storage.titles import automatic_title


class SessionTitle:
    """The titles of the stored row that a session was read from, and those that this process stored since."""

    __slots__ = ("automatic", "given")

    def __init__(self, given: str | None = None, automatic: str | None = None) -> None:
        self.given = given
        self.automatic = automatic

    @property
    def shown(self) -> str | None:
        return self.automatic if self.given is None else self.given

    def from_messages(self, *messages: Any) -> TitleWrite | None:
        """Return the automatic title that messages of a person give, to store with them; None if there is one."""
        if self.automatic is not None:
            return None
        title = next(filter(None, (automatic_title(each) for each in messages if isinstance(each, str))), None)
        return None if title is None else TitleWrite(title, automatic=True)

    def written(self, write: TitleWrite | None) -> None:
        """Learn that a title is stored. Later messages then write none."""
        if write is not None and not write.automatic:
            self.given = write.text
        elif write is not None and self.automatic is None:
            self.automatic = write.text
