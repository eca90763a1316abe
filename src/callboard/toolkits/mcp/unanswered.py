"""Calls without a response: a server may still be carrying them out, also if they were cancelled or took too long."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from mcp.shared.dispatcher import coerce_request_id
from mcp_types import RequestId

MAX_UNANSWERED = 1_000
"""The number of unanswered calls that are tracked individually. Of more calls only the users are kept."""

_user: ContextVar[str | None] = ContextVar("callboard_mcp_user", default=None)


@contextmanager
def sending_for(user: str) -> Generator[None]:
    """Send calls for a user."""
    token = _user.set(user)
    try:
        yield
    finally:
        _user.reset(token)


class Unanswered:
    """The users of the calls to which the server has not responded, on one connection."""

    def __init__(self) -> None:
        self._users: dict[RequestId, str] = {}
        self._answered: set[RequestId] = set()
        self._kept: set[str] = set()
        """Users of calls above the limit: two of them at most, since no user is the only one then."""

    def sent(self, request_id: RequestId) -> None:
        """Count a call that is sent, in the context of `sending_for`."""
        if (user := _user.get()) is None:
            return
        if len(self._users) < MAX_UNANSWERED:
            self._users[coerce_request_id(request_id)] = user
        elif len(self._kept) < 2:
            self._kept.add(user)

    def answered(self, request_id: RequestId) -> None:
        """Note the response to a request. The call counts until `settle`."""
        if (known := coerce_request_id(request_id)) in self._users:
            self._answered.add(known)

    def settle(self) -> None:
        """Forget the calls with a response: no question that came before it is open."""
        for request_id in self._answered:
            del self._users[request_id]
        self._answered.clear()

    def is_only(self, user: str) -> bool:
        """Return whether all calls without a response are of this user."""
        return {*self._users.values(), *self._kept} <= {user}
