"""Wakes sessions that have late results for their models, which another process left there.

That process has ended, as before a start of this one, or it has no model.

They are loaded one after the other, and a bounded number of turns runs at once, in the order of a `WakeQueue`: neither
the calls of others nor a user with one session wait for a user with thousands. A session that was only loaded for its
turn leaves memory after it. Sessions with new results of this process are not woken here, but by their conversations.
"""

import asyncio
import logging

from ..background_tasks import BackgroundTasks
from ..clock import within
from ..storage.errors import StoreError
from .conversation_port import ConversationPort
from .live_session import LiveSession
from .services import Services
from .session_cache import SessionCache
from .session_loader import SessionLoader
from .wake_queue import WakeQueue

log = logging.getLogger("callboard.sessions")

PAGE = 1_000
"""Number of sessions that are read at once."""
AT_ONCE = 32
"""Number of sessions whose turns run at once because of a wake."""
LONGEST = 2.0
"""Seconds after which a turn no longer counts: the model is slow, and others need not wait for it."""
LONGEST_PAUSE = 0.25
"""Seconds between two wakes at most. The pause is as long as the loading took: the busier the process, the longer."""
RETRY_DELAY = 0.5
"""Seconds before the next attempt after the store did not answer."""


class Waker:
    """Starts turns in sessions with late results, from `open` until `close`."""

    def __init__(self, services: Services, cache: SessionCache, loader: SessionLoader) -> None:
        self._store = services.store
        self._clock = services.clock
        self._cache = cache
        self._loader = loader
        self._queue = WakeQueue(AT_ONCE)
        self._looks = False
        """Whether all sessions of the store are to be searched."""
        self._named: set[str] = set()
        """Sessions that are to be searched, since another process left results in them."""
        self._changed = asyncio.Event()
        self._tasks = BackgroundTasks()

    def open(self) -> None:
        """Start to wake the sessions that `wake_all` and `wake` find."""
        self._tasks.run(self._run(), "callboard: wakes")

    async def close(self) -> None:
        """Stop waking. Turns that run continue, and the other sessions are left to the next process."""
        await self._tasks.close()

    def wake_all(self) -> None:
        """Wake all sessions that have results which the model has not received, soon."""
        self._looks = True
        self._changed.set()

    def wake(self, session_id: str) -> None:
        """Wake a session if it has such results, soon."""
        self._named.add(session_id)
        self._changed.set()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as turns:
            while True:
                if self._looks or self._named:
                    await self._look()
                elif (taken := self._queue.take()) is not None:
                    await self._wake(*taken, turns)
                else:
                    await self._changed.wait()
                    self._changed.clear()

    async def _look(self) -> None:
        """Search the store for sessions to wake."""
        everywhere, self._looks = self._looks, False
        named, self._named = self._named, set()
        after = ""
        try:
            while found := await self._store.sessions_to_wake(
                ids=None if everywhere else named, after=after, limit=PAGE
            ):
                self._queue.add(found)
                after = found[-1][0]
        except StoreError as error:
            log.debug("the store was not reached: %s", error)
            self._looks, self._named = self._looks or everywhere, self._named | named
            await self._clock.sleep(RETRY_DELAY)
        except Exception:
            log.exception("the runtime failed to look for results that the model has not received")

    async def _wake(self, session_id: str, user_id: str, turns: asyncio.TaskGroup) -> None:
        """Load a session and start its turn, which is under way until it ends."""
        began, keep = self._clock.monotonic(), self._cache.get(session_id) is not None
        try:
            session = await self._loader.find_or_load(session_id)
            conversation = None if session is None else session.find_conversation()
            if conversation is not None:
                conversation.wake()
        except StoreError as error:
            log.debug("the store was not reached: %s", error)
            self._queue.done(user_id)
            self._queue.add([(session_id, user_id)])
            await self._clock.sleep(RETRY_DELAY)
            return
        except Exception:
            log.exception("the runtime failed to wake the session %s", session_id)
            self._queue.done(user_id)
            return
        if session is None or conversation is None:
            self._queue.done(user_id)
        else:
            turns.create_task(self._attend(session, user_id, conversation, keep=keep))
        if pause := min(self._clock.monotonic() - began, LONGEST_PAUSE):
            await self._clock.sleep(pause)

    async def _attend(self, session: LiveSession, user_id: str, conversation: ConversationPort, *, keep: bool) -> None:
        """Return when the turn of a session that was woken has ended, or takes long."""
        try:
            await within(self._clock, LONGEST, conversation.idle())
            if not keep and session.ledger.idle:
                self._cache.evict(session)
        except Exception:
            log.exception("the runtime failed after it woke the session %s", session.id)
        finally:
            self._queue.done(user_id)
            self._changed.set()
