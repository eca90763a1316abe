"""The runtime: the composition root. One async context manager that makes every part, joins them and ends them.

Any number can live in one process; nothing is global. Adapters are chosen here and nowhere else.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

from .adapters.stores import open_store
from .clock import Clock, SystemClock
from .errors import MissingExtraError
from .execution.limits import Limits
from .execution.manager import ExecutionManager
from .execution.watchdog import Watchdog
from .sessions.live_session import LiveSession
from .sessions.liveness import this_process
from .sessions.session import Session
from .sessions.session_loader import Retention
from .sessions.session_manager import SessionManager
from .settings import Settings
from .tools.definition import Tool
from .tools.histogram import Histogram
from .tools.policies import BreakerPolicy, RetryPolicy
from .tools.registry import Registry
from .tools.toolset import Toolset
from .types import Wake

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings

    from .turns import TurnLimits


class Runtime:
    """Runs tools for sessions, between `async with` and its end.

    `model` is what sessions talk to: a name that Pydantic AI knows (`anthropic:claude-…`), one of its models, or
    `offline`; `instructions` are what it is told first, `model_settings` how it is asked (temperature, thinking, …),
    `turn_limits` what its turns may use. An interrupt also stops the calls that the turn waits for, unless
    `cancel_on_interrupt` is false. `workers` answer what people ask of the system
    (`user_request`): tools, each under the kind that it answers. `retry` and `breaker` hold for tools that do not have
    their own. `grace` is how long a stopped handler may clean up.

    A session keeps at most its newest `keep_events` events (in memory: 10,000 where nothing is said), and none older
    than `keep_for` seconds; what the user wrote is kept until the model was told of it. Sessions that nobody uses for
    `idle_after` seconds leave memory; they come back by themselves. With `recover=False` nothing that another process
    left behind is taken over, as a command line beside a server wants it.
    """

    def __init__(
        self,
        tools: Registry | Iterable[Tool | Toolset | Callable[..., Any]] = (),
        *,
        workers: Iterable[Tool] = (),
        model: Any = None,
        instructions: str | None = None,
        model_settings: "ModelSettings | None" = None,
        turn_limits: "TurnLimits | None" = None,
        cancel_on_interrupt: bool = True,
        store: str = "memory://",
        settings: Settings | None = None,
        clock: Clock | None = None,
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        breaker: BreakerPolicy | None = None,
        grace: float = 5.0,
        keep_events: int | None = None,
        keep_for: float | None = None,
        keep_executions: int = 1_000,
        idle_after: float = 300.0,
        recover: bool = True,
        blocked_after: float = 1.0,
    ) -> None:
        self.registry = tools if isinstance(tools, Registry) else Registry(tools, settings=settings)
        self.clock = clock or SystemClock()
        limits = limits or _limits(self.registry.settings)
        self.manager = ExecutionManager(
            self.registry, clock=self.clock, limits=limits, retry=retry, breaker=breaker, grace=grace
        )
        self.store = open_store(store)
        self.sessions = SessionManager(
            self.registry,
            self.manager,
            self.clock,
            self.store,
            durable=store != "memory://",
            me=this_process(),
            workers=workers,
            retention=Retention(events=keep_events, seconds=keep_for, executions=keep_executions),
            idle_after=idle_after,
            recover=recover,
        )
        self._conversations = None
        if model is not None:
            try:
                from .chat import Conversations
            except ModuleNotFoundError as missing:
                raise MissingExtraError("A model to talk to", "chat") from missing
            self._conversations = self.sessions.conversations = Conversations(
                self.registry,
                self.sessions,
                model,
                instructions=instructions,
                limits=turn_limits,
                settings=model_settings,
                cancel_on_interrupt=cancel_on_interrupt,
            )
        self._watchdog = Watchdog(self.manager, self._blocked, threshold=blocked_after)
        self._sessions: WeakValueDictionary[LiveSession, Session] = WeakValueDictionary()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.registry)
            await self.store.open(self.sessions.notified)
            stack.push_async_callback(self.store.close)
            stack.push_async_callback(self.sessions.stop)
            await stack.enter_async_context(self.manager)
            if self._conversations is not None:  # before the calls that turns wait for are ended
                stack.push_async_callback(self._conversations.close)
            await self.sessions.start()
            stack.push_async_callback(self.sessions.stop_recovery)  # before what it began is ended
            await stack.enter_async_context(self._watchdog)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def open(
        self,
        session_id: str,
        user_id: str,
        namespaces: Collection[str] | None = None,
        channel: str | None = None,
        allow: Collection[str] | None = None,
        wake: Wake | str | None = None,
    ) -> Session:
        """The session of that id: made, or found if it is this user's. Raises `SessionNotFound` for another user's.

        `wake` is what late results do to it while it is idle (`wake`, `wait`, `ui_only`), where their tools are louder.
        """
        live = await self.sessions.open(
            session_id, user_id, namespaces=namespaces, channel=channel, allow=allow, wake=wake
        )
        if (session := self._sessions.get(live)) is None:
            session = self._sessions[live] = Session(live)
        return session

    @property
    def loop_lag(self) -> Histogram:
        """How long the event loop let what was ready wait, looked at twice in `blocked_after` seconds."""
        return self._watchdog.lag

    def _blocked(self, tool: str, seconds: float, session_ids: Collection[str]) -> None:
        """A handler held the event loop: tell the people whose calls waited for it."""
        for session in self.sessions.known(session_ids):
            said = f"The tool {tool} blocked everything for {seconds:.1f} seconds."
            self.sessions.background.run(session.notice(said, tool=tool, seconds=seconds))


def _limits(settings: Settings) -> Limits:
    return Limits(
        total=settings.max_calls,
        per_user=settings.max_user_calls,
        per_session=settings.max_session_calls,
        queue=settings.max_queued_calls,
        threads=settings.max_threads,
    )
