"""The port of observers, such as traces and the context of logs.

Observers run within the call, so they must be quick and must not raise.
"""

from typing import Protocol

from ..errors import ToolError
from .execution import Execution


class Observer(Protocol):
    """Notified of every execution of this process. `called` is not called for one that another process began."""

    def called(self, execution: Execution) -> None:
        """Note a call that was accepted or refused. This runs in the caller's context."""
        ...

    def attempting(self, execution: Execution) -> None:
        """Note the start of an attempt. This runs in the context of its handler."""
        ...

    def attempted(self, execution: Execution, failure: ToolError) -> None:
        """Note a failed attempt. A successful attempt ends with `ended`."""
        ...

    def ended(self, execution: Execution) -> None:
        """Note the end of an execution, or that another process owns it now (`lost`)."""
        ...
