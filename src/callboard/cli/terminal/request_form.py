"""A request to a person, answered line by line: an approval, or a form of fields. It knows no terminal."""

import json
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, NamedTuple, cast

from ...sessions.open_request import OpenRequest
from ...types import RequestPurpose
from .text import compact, one_line, safe_json

LATER = "later"
"""The word that leaves a request open whose form has been started."""


class Answer(NamedTuple):
    """The answer to a request."""

    value: Any


class Prompt(NamedTuple):
    """The prompt of a line, and the line's initial text."""

    text: str
    initial: str = ""


class _Step(Enum):
    CHOICE = auto()
    """Not started: the next line may be for the model."""
    REASON = auto()
    """The reason for a rejection is typed."""
    EDIT = auto()
    """Other arguments are typed."""
    FIELDS = auto()
    """The fields of an answer are typed."""


class RequestForm:
    """One open request. `prompt` asks for the next line; `enter` returns the answer once it is complete."""

    def __init__(self, request: OpenRequest) -> None:
        self.request = request
        self.problem = ""
        """The problem with the last line."""
        self._tool = one_line(request.tool)
        self._schema = request.answer_schema
        self._fields = list(_properties(request.answer_schema))
        self._step = _Step.CHOICE
        self._values: dict[str, Any] = {}
        """The entered fields of an answer."""
        self._draft: str | None = None
        """Edited arguments that were not accepted yet."""

    @property
    def is_approval(self) -> bool:
        """Whether the request asks for the approval of a call."""
        return self.request.purpose is RequestPurpose.APPROVAL

    @property
    def is_idle(self) -> bool:
        """Whether the form has not been started, so that a line may be for the model."""
        return self._step is _Step.CHOICE

    @property
    def prompt(self) -> Prompt:
        match self._step:
            case _Step.REASON:
                return Prompt("reason (Enter for none) > ")
            case _Step.EDIT:
                draft = json.dumps(self.request.payload, ensure_ascii=False) if self._draft is None else self._draft
                return Prompt(f"new arguments (or: {LATER}) > ", safe_json(draft))
            case _Step.FIELDS if self._fields:
                field = self._fields[len(self._values)]
                return Prompt(f"{self._tool}: {field}{_hint(_field(self._schema, field))} > ")
            case _Step.FIELDS:
                return Prompt(f"{self._tool}: answer as JSON > ")
            case _:
                return Prompt(f"{self._tool}: {'approve? y(es), n(o), e(dit)' if self.is_approval else 'a(nswer)?'} > ")

    def accepts(self, line: str) -> bool:
        """Whether a line is for this form, and not for the model."""
        words = ("y", "yes", "n", "no", "e", "edit") if self.is_approval else ("a", "answer")
        return not self.is_idle or line.strip().lower() in words

    def enter(self, line: str) -> Answer | None:
        """Enter a line that the form accepts. After a refused answer, the form can be filled in again.

        Refused edited arguments stay in the form: nothing else can be approved until they are corrected or given up.
        """
        self.problem = ""
        answer = self._enter(line.strip())
        if answer is not None and self._step is not _Step.EDIT:
            self._reset()
        return answer

    def _enter(self, text: str) -> Answer | None:
        if not self.is_idle and text.lower() == LATER:
            self._reset()
            return None
        match self._step:
            case _Step.REASON:
                return Answer({"approved": False, **({"reason": text} if text else {})})
            case _Step.EDIT:
                return self._enter_arguments(text)
            case _Step.FIELDS:
                return self._enter_field(text) if self._fields else self._enter_json(text)
            case _:
                pass
        match text.lower()[:1]:
            case "y":
                return Answer({"approved": True})
            case "n":
                self._step = _Step.REASON
            case "a":
                self._step = _Step.FIELDS
            case _:
                self._step = _Step.EDIT
        return None

    def _reset(self) -> None:
        self._step, self._values, self._draft = _Step.CHOICE, {}, None

    def _enter_arguments(self, text: str) -> Answer | None:
        self._draft = text
        try:
            arguments = json.loads(text)
        except (ValueError, RecursionError):
            self.problem = f"That is not JSON, and nothing was approved. Correct it, or type {LATER} to discard it."
            return None
        return Answer({"approved": True, "arguments": arguments})

    def _enter_json(self, text: str) -> Answer | None:
        try:
            return Answer(json.loads(text))
        except (ValueError, RecursionError):
            self.problem = "That is not JSON."
            return None

    def _enter_field(self, text: str) -> Answer | None:
        field = self._fields[len(self._values)]
        if not text and field in self._schema.get("required", ()):
            self.problem = f"{field} is required."
            return None
        self._values[field] = _parse(_field(self._schema, field), text) if text else _MISSING
        if len(self._values) < len(self._fields):
            return None
        return Answer({name: value for name, value in self._values.items() if value is not _MISSING})


_MISSING: Any = object()


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", schema.get("properties") or {})


def _field(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The schema of a field, with its reference resolved."""
    field = cast("Mapping[str, Any]", _properties(schema)[name])
    reference = str(field.get("$ref", ""))
    found = cast("Mapping[str, Any]", schema.get("$defs") or {}).get(reference.removeprefix("#/$defs/"))
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else field


def _hint(schema: Mapping[str, Any]) -> str:
    """A short hint at the values that a field accepts."""
    if choices := schema.get("enum"):
        return f" ({', '.join(f'{number} {compact(choice, 40)}' for number, choice in enumerate(choices, 1))})"
    hint = "y/n" if schema.get("type") == "boolean" else compact(schema.get("description", ""), 80)
    if "default" in schema:
        default = schema["default"]
        hint = f"{hint}; optional" if default == "" else f"{hint}; Enter for {compact(default, 40)}"
    return f" ({hint})" if hint else ""


def _parse(schema: Mapping[str, Any], text: str) -> Any:
    """The value that a line means for a field. The tool validates it."""
    choices = cast("list[Any]", schema.get("enum") or [])
    if text.isdecimal() and 1 <= int(text[:4]) <= len(choices):
        return choices[int(text[:4]) - 1]
    if choices or schema.get("type") == "string":
        return text
    if schema.get("type") == "boolean" and text.lower() in ("y", "yes", "n", "no"):
        return text.lower().startswith("y")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
