"""Answers of people: what they have to look like, what is kept of them, and what they mean for the call that waits.

Decisions only, over what is stored; `requests` acts on them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from ..errors import CallboardError, ErrorCategory, ToolError
from ..events.kinds import EventKind
from ..execution.execution import Execution
from ..execution.masking import shown_arguments
from ..execution.scope import HumanDecision
from ..execution.storing import fingerprint_of
from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from ..schemas.secrets import MASK
from ..storage.rows import RequestRow
from ..tools.definition import Tool
from ..tools.document import encode
from ..tools.problems import problems_of
from ..types import RequestPurpose

MAX_ANSWER_BYTES = 256 * 1024
"""How large an answer may be, as JSON."""


REJECTED = "rejected"
"""The `decision` in the details of the error with which a call ends that a person refused."""


class AnswerInvalid(CallboardError, ValueError):
    """An answer is not what the request asks for. `problems` lists path and message; the request stays open."""

    code = "answer_invalid"

    def __init__(self, message: str, problems: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.problems = list(problems)


class ArgumentsMismatch(CallboardError):
    """An answer was given for other arguments than those that the request asks about. The request stays open."""

    code = "arguments_mismatch"


class Approval(BaseModel):
    """How a person answers where a call is to be approved. Nothing but true is a yes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    approved: bool = Field(description="Whether the call may run")
    arguments: dict[str, Any] | None = Field(default=None, description="Other arguments with which it is to run")
    reason: str | None = Field(default=None, max_length=10_000, description="Why not, for the model")


class WalletResponse(BaseModel):
    """What became of a transaction that a wallet was asked to send."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["confirmed", "rejected", "failed"] = Field(description="What became of it")
    transaction_hash: str | None = Field(default=None, max_length=200, description="Its hash, where it was sent")
    detail: str | None = Field(default=None, max_length=10_000, description="More for the model")


def judge(row: RequestRow, tool: Tool | None, answer: Any) -> tuple[str, bytes]:
    """Whether an answer closes the request well, and what is kept of it. Raises `AnswerInvalid`."""
    try:
        document = encode(answer)
        if len(document) > MAX_ANSWER_BYTES:
            raise AnswerInvalid(f"The answer is too large: at most {MAX_ANSWER_BYTES:,} bytes are taken.")
        if exceeds_depth(document, MAX_DEPTH):
            raise AnswerInvalid("The answer is nested too deeply.")
        if row.purpose == RequestPurpose.WALLET:
            given = WalletResponse.model_validate_json(document)
            is_result = tool is not None and tool.handler is None
            status = "answered" if is_result or given.status == "confirmed" else "refused"
        elif row.purpose == RequestPurpose.APPROVAL:
            return _approval(Approval.model_validate_json(document), tool)
        else:
            status = "answered"
        if tool is not None and tool.answer is not None:
            document = tool.result.write(tool.name, TypeAdapter(tool.answer).validate_json(document))
        return status, document
    except ValidationError as error:
        raise AnswerInvalid("The answer is not what is asked for.", problems_of(error)) from None
    except ToolError as error:
        raise AnswerInvalid(error.message, _problems(error)) from None


def _approval(given: Approval, tool: Tool | None) -> tuple[str, bytes]:
    """What is kept of an approval or a refusal. Raises `ToolError` for arguments that the tool does not take."""
    if given.approved and given.arguments is not None and tool is not None:
        tool.arguments.parse(tool.name, encode(given.arguments))
    return "answered" if given.approved else "refused", given.model_dump_json(exclude_none=True).encode()


def _problems(error: ToolError) -> Sequence[Mapping[str, Any]]:
    details: object = error.details
    return cast("list[Mapping[str, Any]]", details) if isinstance(details, list) else ()


def answer_schema(tool: Tool) -> dict[str, Any]:
    """What an answer has to look like, as a JSON schema."""
    if tool.handler is None:
        return TypeAdapter(tool.answer).json_schema()
    asked = WalletResponse if tool.asks == EventKind.WALLET_TX_REQUEST else Approval
    return asked.model_json_schema()


def binding(execution: Execution, payload: bytes) -> str:
    """A hash of what would run and of what a person is shown of it: neither may be another afterwards."""
    bound = [execution.name, fingerprint_of(execution.document), fingerprint_of(payload)]
    return hashlib.sha256(to_json(bound)).hexdigest()


def arguments_hash(row: RequestRow) -> str:
    """A hash of what a person is shown of a request: its tool, its call and the arguments, with secrets masked.

    An answer can repeat it, to say what it was given for. Nothing that is not shown goes into it, so that a secret
    cannot be guessed from it.
    """
    shown = [row.kind, row.tool, row.execution_id, fingerprint_of(row.payload)]
    return hashlib.sha256(to_json(shown)).hexdigest()


def shown_answer(row: RequestRow, tool: Tool | None) -> Any:
    """An answer as people may see it: edited arguments without their secrets."""
    answer = from_json(row.answer or b"null")
    approval = row.purpose == RequestPurpose.APPROVAL
    if tool is not None and tool.has_secrets and approval and "arguments" in answer:
        answer["arguments"] = from_json(shown_arguments(tool, encode(answer["arguments"])))
    return answer


def meaning(row: RequestRow, execution: Execution) -> HumanDecision:
    """What a closed request means for the execution that waits for it."""
    if row.status == "expired":
        return _refusal("Nobody answered in time; the call did not run.", ErrorCategory.TIMEOUT, "expired")
    if row.status not in ("answered", "refused", "used"):
        return _refusal("The request was withdrawn; the call did not run.", ErrorCategory.CANCELLED)
    if row.fingerprint != binding(execution, row.payload):
        return _refusal("What was asked is not what was to run; nothing was done.", ErrorCategory.PERMISSION)
    tool, answer = execution.tool, from_json(row.answer or b"null")
    if tool.handler is None:
        try:
            return HumanDecision(value=TypeAdapter(tool.answer).validate_json(row.answer or b"null"))
        except ValidationError:  # it was taken by a process that does not know the tool
            return _refusal("The person's answer is not what was asked for.", ErrorCategory.VALIDATION)
    said = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    wallet = row.purpose == RequestPurpose.WALLET
    if row.status == "refused" or not (said.get("status") == "confirmed" if wallet else said.get("approved") is True):
        reason = said.get("reason") or said.get("detail")
        why = f" The reason: {reason}" if reason else ""
        return _refusal(f"A person refused this call; it did not run.{why}", ErrorCategory.PERMISSION, REJECTED)
    if wallet or (edited := said.get("arguments")) is None:
        return HumanDecision()
    if tool.has_secrets:
        edited = _with_secrets(edited, from_json(row.payload), from_json(execution.document))
    document = encode(edited)
    try:
        tool.arguments.parse(tool.name, document)
    except ToolError as error:
        return HumanDecision(error)
    return HumanDecision(document=document)


def _with_secrets(edited: Any, shown: Any, original: Any) -> Any:
    """Edited arguments in which a mask that the person left as it was shown stands for the secret behind it."""
    if shown == MASK:
        return original if edited == MASK else edited
    if all(isinstance(each, dict) for each in (edited, shown, original)):
        return {
            name: _with_secrets(value, shown[name], original[name]) if name in shown and name in original else value
            for name, value in edited.items()
        }
    if all(isinstance(each, list) for each in (edited, shown, original)) and len(edited) == len(shown) == len(original):
        return [_with_secrets(*each) for each in zip(edited, shown, original, strict=True)]
    return edited


def _refusal(message: str, category: ErrorCategory, decision: str | None = None) -> HumanDecision:
    details = None if decision is None else {"decision": decision}
    return HumanDecision(ToolError(message, category=category, details=details))
