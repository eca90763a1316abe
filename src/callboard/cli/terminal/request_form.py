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
    """The schema of a field, with its references resolved."""
    field = _resolved(schema, cast("Mapping[str, Any]", _properties(schema)[name]))
    return {**field, "anyOf": [_resolved(schema, each) for each in field["anyOf"]]} if "anyOf" in field else field


def _resolved(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = str(part.get("$ref", ""))
    found = cast("Mapping[str, Any]", schema.get("$defs") or {}).get(reference.removeprefix("#/$defs/"))
    return {**cast("Mapping[str, Any]", found), **part} if isinstance(found, dict) else part


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    """The values of a choice, which may be one of several alternatives, such as null."""
    return [choice for each in _alternatives(schema) for choice in each.get("enum", ())]


def _types(schema: Mapping[str, Any]) -> set[str]:
    """The JSON types that a field accepts, those of choices and null aside."""
    types: set[str] = set()
    for each in _alternatives(schema):
        if "enum" not in each:
            types |= {given} if isinstance(given := each.get("type", ""), str) else set(given)
    return types - {"null", ""}


def _alternatives(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return schema.get("anyOf") or [schema]


def _have_positions(choices: list[Any]) -> bool:
    """Whether choices can be chosen by their positions, because none of them looks like one."""
    return all(choice is None or (isinstance(choice, str) and not choice.isdecimal()) for choice in choices)


def _hint(schema: Mapping[str, Any]) -> str:
    """A short hint at the values that a field accepts."""
    if choices := _choices(schema):
        shown = [compact(choice, 40) for choice in choices]
        numbered = [f"{number} {choice}" for number, choice in enumerate(shown, 1)]
        return f" ({', '.join(numbered if _have_positions(choices) else shown)})"
    hint = "y/n" if _types(schema) == {"boolean"} else compact(schema.get("description", ""), 80)
    if "default" in schema:
        default = schema["default"]
        entered = "optional" if default in ("", None) else f"Enter for {compact(default, 40)}"
        hint = f"{hint}; {entered}" if hint else entered
    return f" ({hint})" if hint else ""


def _parse(schema: Mapping[str, Any], text: str) -> Any:
    """The value that a line means for a field. The tool validates it."""
    choices, types = _choices(schema), _types(schema)
    for choice in choices:
        if text == (choice if isinstance(choice, str) else json.dumps(choice)):
            return choice
    if text.isdecimal() and 1 <= int(text[:4]) <= len(choices) and _have_positions(choices):
        return choices[int(text[:4]) - 1]
    if "boolean" in types and text.lower() in ("y", "yes", "n", "no"):
        return text.lower().startswith("y")
    if "string" in types and not types & {"integer", "number"}:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    is_text = "string" in types and type(value) not in (int, float)
    return text if is_text or (choices and not types) else value
