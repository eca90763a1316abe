"""Whose executions a worker takes next from a queue.

Messages arrive in the order of their calls. If several users have waited in a queue for long, that order would let one
of them keep all others waiting. A message says only that an execution waits, so a worker may claim another one in its
place: that of the user with the fewest executions on this worker, and among equals, of the user whose last turn is the
longest ago.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..clock import Clock
from ..storage.owners import QueuedCall
from ..storage.queues import QueueDepth
from ..storage.store import Store

LATE = 5.0
"""Seconds after which a queue counts as late: until then, executions are taken in the order of their calls."""
USERS = 16
"""The most users that one query serves."""
SPARE = 16
"""Executions of a user that are read beyond those that are wanted, since this worker may not be able to run some."""
AFTERWARDS = 30.0
"""Seconds for which messages may name executions that were claimed in turn, after a queue was late."""


class QueueTurns:
    """The turns of the users of each queue, on one worker."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        depths: Callable[[], Sequence[QueueDepth]],
        can_run: Callable[[str], bool],
    ) -> None:
        self._store = store
        self._clock = clock
        self._depths = depths
        """Returns the queues at the last sweep."""
        self._can_run = can_run
        """Returns whether this worker can run a tool now."""
        self._known: Sequence[QueueDepth] = ()
        """The queues that `_waiting` was made of."""
        self._waiting: dict[str, set[str]] = {}
        """The users that wait in late queues, if there are several."""
        self._shared_until: dict[str, float] = {}
        """Until when messages of a queue may name executions that were claimed in turn."""
        self._turn = 0
        self._last_turns: dict[str, int] = {}
        """The number of the last turn of each user."""

    async def choose(self, calls: Sequence[QueuedCall], running: Iterable[str]) -> list[QueuedCall]:
        """Return the executions to claim, given those that messages of one queue name, and the users of what runs.

        They are the same number, or fewer if the users in turn have no more.
        """
        queue = calls[0].queue
        waiting = self._users(queue)
        if not waiting:
            return list(calls)
        shares = self._shares(waiting, len(calls), Counter(running))
        found = await self._store.queued_calls_of(queue, {user: count + SPARE for user, count in shares.items()})
        chosen: list[QueuedCall] = []
        for user_id, count in shares.items():
            possible = [call for call in found.get(user_id, ()) if self._can_run(call.tool)]
            chosen += possible[:count]
            if len(possible) < count:
                waiting.discard(user_id)  # until the next sweep
        return chosen or list(calls)

    def took(self, users: Iterable[str]) -> None:
        """Note that this worker has claimed executions of users."""
        for user_id in users:
            self._turn += 1
            self._last_turns[user_id] = self._turn

    def were_taken(self, queue: str) -> bool:
        """Return whether workers have lately claimed executions of a queue in turn, instead of those in messages."""
        return self._clock.monotonic() < self._shared_until.get(queue, 0.0)

    def _users(self, queue: str) -> set[str]:
        """Return the users that wait in a queue, if it is late and has several."""
        depths = self._depths()
        if depths is not self._known or not depths:
            self._known = depths
            late = self._clock.time() - LATE
            shared = [each for each in depths if each.oldest_at < late and len(each.users) > 1]
            self._waiting = {each.queue: set(each.users) for each in shared}
            self._shared_until.update((each.queue, self._clock.monotonic() + AFTERWARDS) for each in shared)
            users = set[str]().union(*(each.users for each in depths))
            self._last_turns = {user: turn for user, turn in self._last_turns.items() if user in users}
        return self._waiting.get(queue, set())

    def _shares(self, users: set[str], count: int, running: Mapping[str, int]) -> Mapping[str, int]:
        """Return the users in turn, and how many executions each may have."""
        turns = [(running.get(user, 0), self._last_turns.get(user, 0), user) for user in users]
        in_turn = heapq.nsmallest(USERS, turns)
        shares: Counter[str] = Counter()
        for turn in range(self._turn + 1, self._turn + 1 + count):
            runs, _, user = in_turn[0]
            shares[user] += 1
            heapq.heapreplace(in_turn, (runs + 1, turn, user))
        return shares
