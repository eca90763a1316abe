"""The decision that closed a request to a person, as people may see it."""

from dataclasses import dataclass
from typing import Any, Literal, cast

from ..storage.rows import RequestRow
from ..tools.definition import Tool
from ..types import RequestPurpose
from .answers import display_answer

MAX_DISPLAYED = 16_384
"""Bytes of an answer in a decision; a longer one is left out."""

Outcome = Literal["approved", "rejected", "answered", "expired", "withdrawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How, when and by whom a request was closed."""

    outcome: Outcome
    answer: Any
    """The answer, with secrets masked; None without an answer, or if it is long."""
    is_cut: bool
    """Whether the answer was left out because it is long."""
    answered_by: str | None
    """The user who answered; None if the request expired or was withdrawn."""
    at: float | None


def decision_of(row: RequestRow, tool: Tool | None) -> Decision | None:
    """Return the decision that closed a request; None if it is open. `tool` is the tool that asked, if it is known."""
    if row.status == "open":
        return None
    if row.status in ("expired", "withdrawn"):
        outcome = cast("Outcome", row.status)
        return Decision(outcome=outcome, answer=None, is_cut=False, answered_by=None, at=row.answered_at)
    is_cut = len(row.answer or b"") > MAX_DISPLAYED
    return Decision(
        outcome=_outcome(row),
        answer=None if is_cut else _displayed(row, tool),
        is_cut=is_cut,
        answered_by=row.user_id,  # only the user of a session answers its requests
        at=row.answered_at,
    )


def _outcome(row: RequestRow) -> Outcome:
    if row.status == "refused" and row.purpose != RequestPurpose.FRONT_END_TOOL:
        return "rejected"
    return "approved" if row.purpose == RequestPurpose.APPROVAL else "answered"


def _displayed(row: RequestRow, tool: Tool | None) -> Any:
    """Return the answer for people. Edited arguments of an unknown tool are left out: they may contain secrets."""
    answer = display_answer(row, tool)
    if tool is None and row.status != "used" and row.purpose == RequestPurpose.APPROVAL and isinstance(answer, dict):
        return {name: value for name, value in cast("dict[str, Any]", answer).items() if name != "arguments"}
    return answer
