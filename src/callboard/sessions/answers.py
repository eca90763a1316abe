"""Answers of people: their schemas, their validation, and their effect on the call that waits.

Pure decisions over stored rows; `Requests` acts on them.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from ..errors import CallboardError, ErrorCategory, ToolError
from ..events.kinds import EventKind
from ..execution.execution import Execution
from ..execution.masking import mask_arguments
from ..execution.scope import HumanDecision
from ..execution.storing import fingerprint_of
from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from ..schemas.secrets import MASK
from ..storage.rows import RequestRow
from ..tools.definition import Tool
from ..tools.document import encode
from ..tools.flags import FlagSchema
from ..tools.problems import problems_of
from ..tools.union_cost import bounded
from ..tools.validators import strict_validator
from ..types import RequestPurpose

MAX_ANSWER_BYTES = 256 * 1024
"""Largest answer, in bytes of JSON."""

REJECTED = "rejected"
"""Value of `decision` in the details of the error of a call that a person refused."""


class AnswerInvalid(CallboardError, ValueError):
    """An answer does not fit the request. `problems` lists paths and messages; the request stays open."""

    code = "answer_invalid"

    def __init__(self, message: str, problems: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self.problems = list(problems)


class ArgumentsMismatch(CallboardError):
    """An answer names another `arguments_hash` than the request has. The request stays open."""

    code = "arguments_mismatch"


class Approval(BaseModel):
    """Answer to a request for approval. Only `true` approves."""

    model_config = ConfigDict(extra="forbid", strict=True)

    approved: bool = Field(description="Whether the call may run")
    arguments: dict[str, Any] | None = Field(default=None, description="Other arguments with which it is to run")
    reason: str | None = Field(default=None, max_length=10_000, description="Why not, for the model")


class WalletResponse(BaseModel):
    """Answer of a wallet: the outcome of a transaction."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["confirmed", "rejected", "failed"] = Field(description="Outcome of the transaction")
    transaction_hash: str | None = Field(default=None, max_length=200, description="Its hash, if it was sent")
    contract_address: str | None = Field(default=None, max_length=200, description="Contract that it created")
    detail: str | None = Field(default=None, max_length=10_000, description="Details for the model")


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Answer of a page that could not execute a call of its own tool: the call fails with this error."""

    category: ErrorCategory
    message: str


def check_answer(row: RequestRow, tool: Tool | None, answer: Any) -> tuple[str, bytes]:
    """Validate an answer. Returns the new status of the request and the answer to store. Raises `AnswerInvalid`."""
    if isinstance(answer, CallFailure):
        if row.purpose != RequestPurpose.FRONT_END_TOOL:
            raise AnswerInvalid("Only the call of a front-end tool can be answered with an error.")
        return "refused", to_json({"error": {"category": answer.category, "message": answer.message}})
    try:
        document = encode(answer)
        if len(document) > MAX_ANSWER_BYTES:
            raise AnswerInvalid(f"The answer is too large: at most {MAX_ANSWER_BYTES:,} bytes are accepted.")
        if exceeds_depth(document, MAX_DEPTH):
            raise AnswerInvalid("The answer is nested too deeply.")
        if row.purpose == RequestPurpose.WALLET:
            response = WalletResponse.model_validate_json(document)
            is_result = tool is not None and tool.handler is None
            status = "answered" if is_result or response.status == "confirmed" else "refused"
        elif row.purpose == RequestPurpose.APPROVAL:
            approval = Approval.model_validate_json(document)
            if approval.approved and approval.arguments is not None and tool is not None:
                tool.arguments.parse(tool.name, encode(approval.arguments))
            document = approval.model_dump_json(exclude_none=True).encode()
            return "answered" if approval.approved else "refused", document
        else:
            status = "answered"
        if tool is not None and tool.answer is not None:
            document = _stored_form(tool, document)
        return status, document
    except ValidationError as error:
        problems = problems_of(error)
        lines = [f"- {problem['path'] or 'answer'}: {problem['message']}" for problem in problems]
        raise AnswerInvalid("\n".join(["The answer does not fit the request:", *lines]), problems) from None
    except ToolError as error:
        raise AnswerInvalid(error.message, _problems(error)) from None


def _stored_form(tool: Tool, document: bytes) -> bytes:
    """Return an answer as its type writes it, with defaults; or as it was given, if the type does not read that."""
    read = _validator(tool)
    written = tool.result.write(tool.name, read(document))
    with suppress(ValidationError, ToolError):
        if tool.result.write(tool.name, read(written)) == written:
            return written
    return document


def _problems(error: ToolError) -> Sequence[Mapping[str, Any]]:
    details: object = error.details
    return cast("list[Mapping[str, Any]]", details) if isinstance(details, list) else ()


_schemas: WeakKeyDictionary[Tool, bytes] = WeakKeyDictionary()
"""Answer schemas by tool, written once: open requests share them, and making one takes half a millisecond."""


def answer_schema(tool: Tool) -> bytes:
    """Return the JSON schema of the answers to a tool's requests, as JSON."""
    if (schema := _schemas.get(tool)) is None:
        decision = WalletResponse if tool.asks == EventKind.WALLET_TX_REQUEST else Approval
        answer = tool.answer if tool.handler is None else decision
        schema = _schemas[tool] = to_json(TypeAdapter[Any](answer).json_schema(schema_generator=FlagSchema))
    return schema


_validators: WeakKeyDictionary[Tool, Callable[[bytes], Any]] = WeakKeyDictionary()


def _validator(tool: Tool) -> Callable[[bytes], Any]:
    """Return the function that validates answers to a tool's requests. Answers follow the same rules as arguments.

    It raises `ValidationError`, or `ToolError` for an answer that is too expensive to validate.
    """
    if (validator := _validators.get(tool)) is None:
        schema = TypeAdapter[Any](tool.answer).core_schema
        validator = _validators[tool] = bounded(schema, strict_validator(schema, lax=True).validate_json)
    return validator


def binding(execution: Execution, payload: bytes) -> str:
    """Return a hash of the call and of what the person sees of it: neither may change before the call runs."""
    bound = [execution.name, fingerprint_of(execution.document), fingerprint_of(payload)]
    return hashlib.sha256(to_json(bound)).hexdigest()


def arguments_hash(row: RequestRow) -> str:
    """Return a hash of what a person sees of a request: its tool, its call and the arguments, with secrets masked.

    An answer can repeat it, which binds the answer to these arguments. It covers only what the person sees, so that a
    secret cannot be guessed from it.
    """
    visible = [row.kind, row.tool, row.execution_id, fingerprint_of(row.payload)]
    return hashlib.sha256(to_json(visible)).hexdigest()


def display_answer(row: RequestRow, tool: Tool | None) -> Any:
    """Return an answer as people may see it: secrets in edited arguments are masked."""
    answer = from_json(row.answer or b"null")
    approval = row.purpose == RequestPurpose.APPROVAL
    if tool is not None and tool.has_secrets and approval and "arguments" in answer:
        answer["arguments"] = from_json(mask_arguments(tool, encode(answer["arguments"])))
    return answer


def interpret_answer(row: RequestRow, execution: Execution) -> HumanDecision:
    """Return the effect of a closed request on the execution that waits for it."""
    if row.status == "expired":
        return _refusal("There was no answer in time; the call did not run.", ErrorCategory.TIMEOUT, "expired")
    if row.status not in ("answered", "refused", "used"):
        return _refusal("The request was withdrawn; the call did not run.", ErrorCategory.CANCELLED)
    if row.fingerprint != binding(execution, row.payload):
        return _refusal("The request does not match the call; nothing was done.", ErrorCategory.PERMISSION)
    tool, answer = execution.tool, from_json(row.answer or b"null")
    if row.status == "refused" and row.purpose == RequestPurpose.FRONT_END_TOOL:
        failure = answer["error"]
        return HumanDecision(ToolError(failure["message"], category=ErrorCategory(failure["category"])))
    if tool.handler is None:
        try:
            return HumanDecision(value=_validator(tool)(row.answer or b"null"))
        except (ValidationError, ToolError):  # a process without the tool accepted it
            return _refusal("The person's answer does not fit the request.", ErrorCategory.VALIDATION)
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    wallet = row.purpose == RequestPurpose.WALLET
    approved = fields.get("status") == "confirmed" if wallet else fields.get("approved") is True
    if row.status == "refused" or not approved:
        reason = fields.get("reason") or fields.get("detail")
        why = f" The reason: {reason}" if reason else ""
        return _refusal(f"A person refused this call; it did not run.{why}", ErrorCategory.PERMISSION, REJECTED)
    if wallet or (edited := fields.get("arguments")) is None:
        return HumanDecision()
    if tool.has_secrets:
        edited = _with_secrets(edited, from_json(row.payload), from_json(execution.document))
    document = encode(edited)
    try:
        tool.arguments.parse(tool.name, document)
    except ToolError as error:
        return HumanDecision(error)
    return HumanDecision(document=document)


def _with_secrets(edited: Any, masked: Any, original: Any) -> Any:
    """Return edited arguments in which each mask that the person left unchanged is replaced by its secret."""
    if masked == MASK:
        return original if edited == MASK else edited
    if all(isinstance(each, dict) for each in (edited, masked, original)):
        return {
            name: _with_secrets(value, masked[name], original[name]) if name in masked and name in original else value
            for name, value in edited.items()
        }
    lists = all(isinstance(each, list) for each in (edited, masked, original))
    if lists and len(edited) == len(masked) == len(original):
        return [_with_secrets(*each) for each in zip(edited, masked, original, strict=True)]
    return edited


def _refusal(message: str, category: ErrorCategory, decision: str | None = None) -> HumanDecision:
    details = None if decision is None else {"decision": decision}
    return HumanDecision(ToolError(message, category=category, details=details))
