"""Tracing of model requests with Pydantic AI's instrumentation: a `chat` span below the span of the turn."""

from typing import Any

from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel

from ..runtime import named_model


def traced_model(model: Any, tracer_provider: Any = None, *, content: bool = False) -> Model:
    """Wrap a model for `Runtime(model=…)` with a span per request. With `content`, spans have unmasked messages."""
    chosen = infer_model(named_model(model))
    return InstrumentedModel(chosen, InstrumentationSettings(tracer_provider=tracer_provider, include_content=content))
