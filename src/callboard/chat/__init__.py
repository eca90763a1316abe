"""The conversation: a transcript, turns with a model, and results that come late."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from pydantic_ai.models import Model, infer_model

from ..sessions.scheduler import Scheduler
from ..sessions.session import Session
from ..tools.registry import Registry
from .completion import TurnLimits
from .conversation import Conversation
from .offline import offline_model
from .tasks import task_tools


def conversations(
    registry: Registry, sessions: Scheduler, model: Any, instructions: str | None, limits: TurnLimits | None = None
) -> Callable[[Session], Conversation]:
    """Gives each session its conversation with a model, and the registry the tools for work that goes on."""
    known: WeakKeyDictionary[Session, Conversation] = WeakKeyDictionary()
    chosen: Model = offline_model() if model == "offline" else infer_model(model)
    for tool in task_tools(sessions.find):
        registry.register(tool, replace=True)

    def of(session: Session) -> Conversation:
        if (talk := known.get(session)) is None:
            talk = known[session] = Conversation(
                session,
                chosen,
                limits=limits or TurnLimits(),
                settings=None,
                instructions=instructions,
                cancel_on_interrupt=True,
                spawn=sessions.spawn,
            )
        return talk

    return of
