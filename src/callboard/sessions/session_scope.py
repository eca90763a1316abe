"""Port through which requests and workers use a live session, so that neither imports it."""

from typing import Protocol

from ..events.board import Board
from ..execution.admission import CallScope
from .calls import Calls
from .ledger import Ledger


class SessionScope(CallScope, Protocol):
    """A live session as requests and workers see it: its identity, its board, its ledger and its calls."""

    @property
    def board(self) -> Board: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def calls(self) -> Calls: ...
