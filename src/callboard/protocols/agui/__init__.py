"""AG-UI 1.0: a session as an agent that any AG-UI client can talk to.

Above it stands the server, which mounts `endpoint` and says whose session a thread is. Below it are sessions and the
conversation; it knows nothing of how a turn runs, and only reads the board and the transcript.
"""

from .endpoint import endpoint
from .reading import MAX_BODY_BYTES, MAX_VALUES

__all__ = ["MAX_BODY_BYTES", "MAX_VALUES", "endpoint"]
