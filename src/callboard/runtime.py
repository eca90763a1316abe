"""The runtime: the composition root. One async context manager that makes all parts, connects and ends them.

Any number can live in one process; nothing is global. Adapters are chosen here and nowhere else.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Self, cast
from weakref import WeakValueDictionary

from .adapters.engines import LocalEngine, open_engine
from .adapters.stores import migrate_store, open_store, store_status
from .adapters.stores.address import Reach, StoreAddress, file_address, store_address
from .checks import Check
from .clock import Clock, SystemClock
from .errors import MissingExtraError, SettingsError
from .execution.engine import GATEWAY_QUEUE, Engine, EngineError, check_names
from .execution.limits import Limits
from .execution.manager import ExecutionManager
from .execution.watchdog import Watchdog
from .sessions.live_session import LiveSession
from .sessions.liveness import this_process
from .sessions.services import check_loop
from .sessions.session import Session
from .sessions.session_loader import Retention
from .sessions.session_manager import SessionManager
from .settings import Settings
from .storage.store import Store
from .tools.definition import QUEUE_NAME, Tool
from .tools.histogram import Histogram
from .tools.policies import BreakerPolicy, RetryPolicy
from .tools.registry import Registry
from .tools.toolset import Toolset
from .turns import TurnLimits
from .types import Wake

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings

__all__ = [
    "Reach",
    "Runtime",
    "file_address",
    "migrate_store",
    "open_engine",
    "open_store",
    "store_address",
    "store_status",
]


class Runtime:
    """Runs tools for sessions, inside `async with`.

    `model` is the model of the conversations: a name that Pydantic AI knows (`anthropic:claude-…`), one of its models,
    or `offline`. `instructions` are its system prompt, `model_settings` its settings (temperature, thinking, …), and
    `turn_limits` the limits of its turns. An interrupt also stops the calls that the turn waits for, unless
    `cancel_on_interrupt` is false. `workers` are tools that answer requests of people to the system (`user_request`),
    each under the kind that it answers. `store` is the address of a built-in store, or a store of your own, which the
    runtime opens and closes. `engine` is the address of an engine (`nats://…`), which sends calls to workers: runtimes
    on the same store that serve `queues`, each `concurrency` calls at once. `retry` and `breaker` apply to tools
    without their own. `grace` is the time, in seconds, in which a cancelled handler may clean up.

    A session keeps at most its newest `keep_events` events (10,000 in memory by default), and none older than
    `keep_for` seconds; inputs are kept until the model has received them. Sessions that are idle for `idle_after`
    seconds leave memory, and come back when they are used. With `recover=False` the runtime does not recover the work
    of other processes, as a command line beside a server needs it.
    """

    def __init__(
        self,
        tools: Registry | Iterable[Tool | Toolset | Callable[..., Any]] = (),
        *,
        workers: Iterable[Tool] = (),
        model: Any = None,
        instructions: str | None = None,
        model_settings: "ModelSettings | None" = None,
        turn_limits: TurnLimits | None = None,
        cancel_on_interrupt: bool = True,
        store: str | Store = "memory://",
        engine: str | Engine | None = None,
        queues: Iterable[str] = (),
        concurrency: int = 16,
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
        _check.instance("retry", retry, RetryPolicy)
        _check.instance("breaker", breaker, BreakerPolicy)
        _check.instance("limits", limits, Limits)
        _check.instance("settings", settings, Settings)
        workers = _check.items("workers", workers, Tool, "a list of tools")
        _check.instance("turn_limits", turn_limits, TurnLimits)
        _check.text("instructions", instructions, optional=True)
        if not (model_settings is None or isinstance(cast(Any, model_settings), Mapping)):
            raise SettingsError(f"model_settings is {model_settings!r}; it must be a dict, or None.")
        _check.flag("cancel_on_interrupt", cancel_on_interrupt)
        _check.flag("recover", recover)
        if clock is not None and not hasattr(clock, "monotonic"):
            raise SettingsError(f"clock is {clock!r}; it must be a clock, such as callboard.testing.ManualClock().")
        _check.seconds("grace", grace, least=0)
        _check.seconds("idle_after", idle_after, least=0)
        _check.seconds("blocked_after", blocked_after, above=0)
        _check.count("keep_executions", keep_executions, least=0)
        if keep_events is not None:
            _check.count("keep_events", keep_events, least=1)
        if keep_for is not None:
            _check.seconds("keep_for", keep_for, above=0)
        _check.count("concurrency", concurrency, least=1)
        queues = _check.texts("queues", queues)
        if queues and engine is None:
            raise SettingsError("queues needs an engine, which sends the calls, as in engine='nats://host:4222'.")
        if isinstance(tools, Registry) and settings not in (None, tools.settings):
            raise SettingsError("A registry has settings of its own: give them to it, as in Registry(…, settings=…).")
        self.registry = tools if isinstance(tools, Registry) else Registry(tools, settings=settings)
        self.clock = clock or SystemClock()
        limits = limits or _limits(self.registry.settings)
        self.manager = ExecutionManager(
            self.registry, clock=self.clock, limits=limits, retry=retry, breaker=breaker, grace=grace
        )
        self.store = _opened(store)
        self._address = _address(store)
        self.store_kind = self._address.kind
        """The kind of the store: `memory`, `sqlite`, `postgresql` or `other`."""
        self.sessions = SessionManager(
            self.registry,
            self.manager,
            self.clock,
            self.store,
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
                named_model(model),
                instructions=instructions,
                limits=turn_limits,
                settings=model_settings,
                cancel_on_interrupt=cancel_on_interrupt,
            )
        self.engine = open_engine(engine) if isinstance(engine, str) else engine
        self.worker = self.dispatcher = None
        if self.engine is not None:
            self._connect(self.engine, queues, concurrency)
        self._watchdog = Watchdog(self.manager, self._blocked, threshold=blocked_after)
        self._sessions: WeakValueDictionary[LiveSession, Session] = WeakValueDictionary()
        self._stack = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.registry)
            await self.store.open(self.sessions.notified)
            stack.push_async_callback(self.store.close)
            stack.push_async_callback(self.sessions.stop)
            await stack.enter_async_context(self.manager)
            if self._conversations is not None:  # ended before the calls that turns wait for
                stack.push_async_callback(self._conversations.close)
            await self.sessions.start()
            stack.push_async_callback(self.sessions.stop_recovery)  # ended before the executions that it started
            if self.dispatcher is not None and self.worker is not None:
                await self.dispatcher.open()
                stack.push_async_callback(self.dispatcher.close)
                await self.worker.open()
                stack.push_async_callback(self.worker.close)
            await stack.enter_async_context(self._watchdog)
            self._stack, self._loop = stack.pop_all(), asyncio.get_running_loop()
        return self

    def _connect(self, engine: Engine, queues: Iterable[str], concurrency: int) -> None:
        """Prepare to send calls to workers, and to serve queues: as a gateway, those of calls that workers make."""
        kind, reach, *_ = self._address
        if reach is not Reach.NETWORK and not isinstance(engine, LocalEngine):
            raise EngineError(
                f"An engine needs a store that other machines can reach, and the {kind} store is {reach} only. "
                "Use a store at a postgresql:// address, or no engine."
            )
        served = check_names(queues, QUEUE_NAME.fullmatch) if (queues := tuple(queues)) else (GATEWAY_QUEUE,)
        self.dispatcher = self.sessions.dispatch(engine, served)
        self.worker = self.sessions.worker(self.dispatcher, served, concurrency)

    async def __aexit__(self, *exc: Any) -> bool | None:
        if self._loop is not None:
            check_loop(self._loop)
        self._loop = None
        return await self._stack.__aexit__(*exc)

    async def open(
        self,
        session_id: str,
        user_id: str,
        namespaces: Collection[str] | None = None,
        channel: str | None = None,
        allow: Collection[str] | None = None,
        wake: Wake | str | None = None,
    ) -> Session:
        """Create a session, or log its user in again.

        `wake` limits the effect of late results on the idle session (`wake`, `wait`, `ui_only`). Raises
        `SessionNotFound` for another user's session, `SessionIdInvalid`, and `RuntimeNotOpen` outside `async with` or
        in another event loop.
        """
        if self._loop is not None:
            check_loop(self._loop)
        is_unchanged = namespaces is channel is allow is None
        live = self.sessions.logged_in(session_id, user_id, wake) if is_unchanged else None
        if live is None:
            live = await self.sessions.open(
                session_id, user_id, namespaces=namespaces, channel=channel, allow=allow, wake=wake
            )
        if (session := self._sessions.get(live)) is None:
            session = self._sessions[live] = Session(live)
        return session

    @property
    def gateways(self) -> int:
        """The number of gateways that share the store, as far as the engine knows; 1 without an engine."""
        return 1 if self.dispatcher is None else self.dispatcher.gateways

    @property
    def loop_lag(self) -> Histogram:
        """Delays of the event loop, sampled twice in `blocked_after` seconds."""
        return self._watchdog.lag

    def _blocked(self, tool: str, seconds: float, session_ids: Collection[str]) -> None:
        """Post a notice to the sessions whose calls waited while a handler blocked the event loop."""
        for session in self.sessions.known(session_ids):
            message = f"The tool {tool} blocked everything for {seconds:.1f} seconds."
            self.sessions.background.run(session.notice(message, tool=tool, seconds=seconds))


_check = Check(SettingsError)


def named_model(model: Any) -> Any:
    """Replace the name of a model that Pydantic AI does not know: `offline`, the model of the demo."""
    if model != "offline":
        return model
    from .demo.offline import offline_model

    return offline_model()


def _opened(store: Any) -> Store:
    """Return the store at an address, or a store as it is. Raises `StoreError` or `SettingsError`."""
    if isinstance(store, str):
        return open_store(store)
    if not hasattr(store, "durable"):
        raise SettingsError(f"store is {store!r}; it must be the address of a store, such as sqlite:///callboard.db.")
    return store


def _address(store: str | Store) -> StoreAddress:
    """Return what is known of a store: from its address, since a store of another package can be anything."""
    if isinstance(store, str):
        return store_address(store)
    return StoreAddress("other", Reach.NETWORK) if store.durable else StoreAddress("memory", Reach.PROCESS)


def _limits(settings: Settings) -> Limits:
    return Limits(
        total=settings.max_calls,
        per_user=settings.max_user_calls,
        per_session=settings.max_session_calls,
        queue=settings.max_queued_calls,
        threads=settings.max_threads,
    )
