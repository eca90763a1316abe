"""The order in which a worker claims the executions of different users from a queue.

Messages arrive in the order of their calls. If several users have waited in a queue for long, that order would let one
of them keep all others waiting. Then a worker claims what a message names only if its user is due: no other user who
waits has fewer executions on this worker, and the user's last turn is not among the last. Otherwise it claims an
execution of the user with the fewest executions on this worker, and among equals, of the user whose last turn was
longest ago.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ..clock import Clock
from ..storage.owners import QueuedCall
from ..storage.queues import QueueDepth
from ..storage.store import Store

LATE = 5.0
"""Seconds after which a queue counts as late: until then, executions are taken in the order of their calls."""
COUNT_AGAIN = 1.0
"""Seconds after which the users of a late queue are counted again: one who has just come waits no longer for a turn."""
USERS = 16
"""The most users that one query serves."""
SPARE = 16
"""Executions of a user that are read beyond those that are wanted, since this worker may not be able to run some."""


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
        """Returns the queues at the last count of the dispatcher."""
        self._can_run = can_run
        """Returns whether this worker can run a tool now."""
        self._known: Sequence[QueueDepth] = ()
        """The last of these that was used."""
        self._late: dict[str, set[str]] = {}
        """The users that wait in late queues."""
        self._counted_at = 0.0
        """When they were counted."""
        self._turn = 0
        self._last_turns: dict[str, int] = {}
        """The number of the last turn of each user."""

    async def choose(self, calls: Sequence[QueuedCall], running: Sequence[str]) -> dict[tuple[str, str], QueuedCall]:
        """Return the executions to claim, given those that messages of one queue name, and the users of what runs.

        They are the same number, or fewer if the users in turn have no more.
        """
        queue = calls[0].queue
        waiting = await self._users(queue)
        named = {(call.session_id, call.id): call for call in calls}
        if len(waiting) < 2:
            return named
        counts = Counter(running)
        chosen: dict[tuple[str, str], QueuedCall] = {}
        for key, call in named.items():
            if self._is_due(call.user_id, waiting, counts):
                chosen[key] = call
                counts[call.user_id] += 1
        if len(chosen) == len(named):
            return named
        shares = self._shares(waiting, len(named) - len(chosen), counts)
        found = await self._store.queued_calls_of(queue, {user: count + SPARE for user, count in shares.items()})
        for user_id, count in shares.items():
            others = {(call.session_id, call.id): call for call in found.get(user_id, ()) if self._can_run(call.tool)}
            possible = [key for key in others if key not in chosen]
            chosen.update((key, others[key]) for key in possible[:count])
            if len(possible) < count:
                waiting.discard(user_id)  # until they are counted again
        return chosen or named

    def took(self, users: Iterable[str]) -> None:
        """Note that this worker has claimed executions of users."""
        for user_id in users:
            self._turn += 1
            self._last_turns[user_id] = self._turn

    async def _users(self, queue: str) -> set[str]:
        """Return the users that wait in a queue, if it is late. Those of a late queue are counted again and again."""
        depths = self._depths()
        if depths is not self._known or not depths:
            self._known = depths
            self._use(depths)
        elif queue in self._late and self._clock.monotonic() >= self._counted_at + COUNT_AGAIN:
            self._use(await self._store.queue_depths())
        return self._late.get(queue, set())

    def _use(self, depths: Sequence[QueueDepth]) -> None:
        self._counted_at = self._clock.monotonic()
        latest = self._clock.time() - LATE
        self._late = {each.queue: set(each.users) for each in depths if each.oldest_at < latest}
        users = set[str]().union(*(each.users for each in depths))
        self._last_turns = {user: turn for user, turn in self._last_turns.items() if user in users}

    def _is_due(self, user_id: str, waiting: Collection[str], counts: Mapping[str, int]) -> bool:
        """Return whether it is fair to claim the next execution for a user, by what runs here and the last turns."""
        has_idle_user = len(waiting) > len(counts)
        fewest = 0 if has_idle_user else min(counts.get(other, 0) for other in waiting)
        turns_ago = self._turn - self._last_turns.get(user_id, -len(waiting))
        return counts.get(user_id, 0) <= fewest and turns_ago >= len(waiting) / 2

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
