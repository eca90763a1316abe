"""AG-UI 1.0: a session as an agent for any AG-UI client.

The server mounts it as `AgUiMount`; any other Starlette application can route to `endpoint`. It reads the board and the
transcript of a session, and does not depend on how a turn runs.
"""

from .endpoint import AgUiMount, endpoint

__all__ = ["AgUiMount", "endpoint"]
