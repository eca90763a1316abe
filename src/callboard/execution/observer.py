"""Who looks on while executions are carried out: traces, and logs that say whose they are.

With no observer nothing is called. What an observer does happens within the call, so it must be quick and never raise.
"""

from typing import Protocol

from ..errors import ToolError
from .execution import Execution


class Observer(Protocol):
    """Told of every execution of this process, on its event loop. One that a dead process began has no `called`."""

    def called(self, execution: Execution) -> None:
        """A call was accepted, or refused at once. This is still within the caller's context."""
        ...

    def attempting(self, execution: Execution) -> None:
        """An attempt begins, in the context in which its handler will run."""
        ...

    def attempted(self, execution: Execution, failure: ToolError) -> None:
        """An attempt failed. One that gives a result is over when the execution has ended."""
        ...

    def ended(self, execution: Execution) -> None:
        """It is over, or not this process's any more (`lost`)."""
        ...
