"""Traces: a span for each turn, with child spans for calls and their attempts.

A call outside a turn is a child of the current span, or a root. A background call outlives its turn, so it is the root
of its own trace, with a link to its caller; so is a turn that a late result starts. A call that a worker carries out
has a span in each of the two processes, of which the worker's is the child. No attribute has text of models or people,
unless `content` is set.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .. import __version__
from ..errors import ToolError
from ..execution.execution import Execution
from ..execution.lifecycle import Status
from ..execution.manager import NO_TOOL
from ..runtime import Runtime
from ..turns import TurnStatus
from ..types import Mode
from . import conventions as names
from .masking import Masker
from .turn_watch import TurnEnd, TurnWatch

log = logging.getLogger("callboard.telemetry")

SCOPE = "callboard"
_TRACE_CONTEXT = TraceContextTextMapPropagator()
MAX_CONTENT = 8_192
"""Characters of arguments and of a result in a span with content."""

P = ParamSpec("P")


class _Call:
    """The spans of an open execution."""

    __slots__ = ("attempt", "span")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.attempt: Span | None = None


def _harmless(
    method: "Callable[Concatenate[Tracing, P], None]",
) -> "Callable[Concatenate[Tracing, P], None]":
    """Log errors of an observer's method, so that they do not affect the runtime."""

    @wraps(method)
    def guarded(self: "Tracing", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception:
            log.exception("a span could not be written")

    return guarded


class Tracing:
    """Traces a runtime until it is closed, which ends all open spans."""

    def __init__(self, runtime: Runtime, tracer_provider: TracerProvider | None, *, content: bool) -> None:
        self._tracer = trace.get_tracer(SCOPE, __version__, tracer_provider)
        self._masker = Masker.of_environment() if content else None
        self._has_engine = runtime.engine is not None
        self._calls: dict[Execution, _Call] = {}
        self._turns: dict[str, tuple[Span, Context]] = {}
        self._detach = runtime.manager.observe(self)
        self._watch = TurnWatch(runtime, self)

    def close(self) -> None:
        """Stop tracing, and end all spans."""
        self._detach()
        self._watch.close()
        for call in self._calls.values():
            if call.attempt is not None:
                call.attempt.end()
            call.span.end()
        for span, _ in self._turns.values():
            span.end()
        self._calls.clear()
        self._turns.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # Executions

    @_harmless
    def called(self, execution: Execution) -> None:
        parent = None if execution.parent is None else self._calls.get(execution.parent)
        if parent is not None:
            self._begin(execution, trace.set_span_in_context(parent.attempt or parent.span))
        elif execution.tool.mode is Mode.BACKGROUND:
            self._begin(execution, Context(), _links_to_here())
        else:
            self._begin(execution, None)

    def _begin(self, execution: Execution, context: Context | None, links: tuple[Link, ...] = ()) -> _Call:
        known = execution.tool is not NO_TOOL  # else a model made the name up
        attributes = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL: execution.name,
            names.TOOL_TYPE: "function",
            names.CALL_ID: execution.call_id,
            names.CONVERSATION: execution.scope.id,
            names.EXECUTION: execution.id,
            names.MODE: execution.tool.mode.value,
        }
        name = f"{names.EXECUTE_TOOL} {execution.name}" if known else names.EXECUTE_TOOL
        span = self._tracer.start_span(name, context, attributes=attributes, links=links)
        call = self._calls[execution] = _Call(span)
        if self._has_engine and execution.trace is None:  # it goes with the call to a worker
            carrier: dict[str, str] = {}
            _TRACE_CONTEXT.inject(carrier, trace.set_span_in_context(span))
            if "traceparent" in carrier:
                execution.set_trace(carrier["traceparent"])
        return call

    @_harmless
    def attempting(self, execution: Execution) -> None:
        call = self._calls.get(execution) or self._begin(execution, _context_of(execution))
        attributes = {names.ATTEMPT: execution.attempt, names.TOOL: execution.name, names.EXECUTION: execution.id}
        call.attempt = self._tracer.start_span(
            f"attempt {execution.name}", trace.set_span_in_context(call.span), attributes=attributes
        )
        contexts.attach(trace.set_span_in_context(call.attempt))  # the parent of spans in the handler

    @_harmless
    def attempted(self, execution: Execution, failure: ToolError) -> None:
        call = self._calls.get(execution)
        if call is not None and call.attempt is not None:
            _end(call.attempt, failure)
            call.attempt = None

    @_harmless
    def ended(self, execution: Execution) -> None:
        if (call := self._calls.pop(execution, None)) is None:
            return
        if call.attempt is not None:
            _end(call.attempt, execution.error)
        call.span.set_attribute(names.ATTEMPTS, execution.attempt)
        if execution.lost:
            call.span.set_attribute(names.LOST, True)
        else:
            call.span.set_attribute(names.STATUS, execution.status.value)
        if self._masker is not None:
            content = {names.ARGUMENTS: execution.display_arguments, names.RESULT: execution.result_json}
            for name, document in content.items():
                text = self._masker.text((document or b"").decode(errors="replace"))
                call.span.set_attribute(name, text[:MAX_CONTENT])
        _end(call.span, execution.error, is_fault=execution.status is not Status.CANCELLED)

    # Turns, whose watch logs errors

    def turn_began(self, session_id: str, turn_id: str) -> None:
        before = contexts.get_current()
        ours = _is_ours(trace.get_current_span())
        attributes = {names.OPERATION: names.INVOKE_AGENT, names.CONVERSATION: session_id, names.TURN: turn_id}
        span = self._tracer.start_span(
            names.INVOKE_AGENT,
            Context() if ours else before,
            attributes=attributes,
            links=_links_to_here() if ours else (),
        )
        self._turns[turn_id] = span, before
        contexts.attach(trace.set_span_in_context(span))

    def turn_ended(self, session_id: str, turn_id: str, end: TurnEnd) -> None:
        span, before = self._turns.pop(turn_id)
        span.set_attribute(names.STATUS, end.status)
        span.set_attribute(names.INPUT_TOKENS, end.usage.input_tokens)
        span.set_attribute(names.OUTPUT_TOKENS, end.usage.output_tokens)
        if end.status == TurnStatus.FAILED:
            span.set_attribute(names.ERROR, "turn_failed")
            span.set_status(StatusCode.ERROR)
        span.end()
        if trace.get_current_span() is span:  # the task may continue with other work
            contexts.attach(before)


def _end(span: Span, error: ToolError | None, *, is_fault: bool = True) -> None:
    """End a span with the category of an error, without its message, which may quote arguments."""
    if error is not None:
        span.set_attribute(names.ERROR, error.category.value)
        if is_fault:
            span.set_status(StatusCode.ERROR)
    span.end()


def _context_of(execution: Execution) -> Context:
    """Return the context of a call of another process: a child of its span there, if that is known."""
    if execution.trace is None:
        return Context()
    return _TRACE_CONTEXT.extract({"traceparent": execution.trace}, Context())


def _links_to_here() -> tuple[Link, ...]:
    here = trace.get_current_span().get_span_context()
    return (Link(here),) if here.is_valid else ()


def _is_ours(span: Any) -> bool:
    """Whether this module started a span, for any runtime."""
    scope = getattr(span, "instrumentation_scope", None)
    return scope is not None and scope.name == SCOPE
