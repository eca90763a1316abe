"""What a person is asked, line by line on a terminal: an approval, or an answer made of fields. Knows no terminal."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ..types import RequestPurpose
from .text import compact, one_line


class Answer(NamedTuple):
    """What the person says to a request."""

    value: Any


class Question(NamedTuple):
    """What stands before the line that is typed, and what stands in it to begin with."""

    prompt: str
    begin: str = ""


class Inquiry:
    """One request, until it is answered. `question` is what is asked now; `take` gives the answer once there is one."""

    def __init__(
        self,
        request_id: str,
        execution_id: str,
        tool: str,
        payload: Any,
        schema: Mapping[str, Any],
        purpose: str,
        arguments_hash: str | None = None,
    ) -> None:
        self.request_id = request_id
        self.execution_id = execution_id
        self.tool = one_line(tool)
        self.arguments_hash = arguments_hash
        """Of what the person is shown; it goes with the answer."""
        self._payload = payload
        self._draft: str | None = None
        """Arguments that were typed, and not taken yet."""
        self._schema = schema
        self._purpose = purpose
        self._step = ""
        self._given: dict[str, Any] = {}
        self._fields = list(_properties(schema))
        self.problem = ""
        """What was wrong with the last line."""

    @property
    def is_approval(self) -> bool:
        """Whether it asks for leave to run something."""
        return self._purpose == RequestPurpose.APPROVAL

    @property
    def idle(self) -> bool:
        """Whether what is typed may as well be for the model."""
        return self._step == ""

    @property
    def question(self) -> Question:
        if self._step == "reason":
            return Question("why not (Enter: no reason) > ")
        if self._step == "edit":
            draft = json.dumps(self._payload, ensure_ascii=False) if self._draft is None else self._draft
            return Question(f"run it with (or: {LATER}) > ", draft)
        if self._step == "":
            words = "run it? y(es), n(o), e(dit)" if self.is_approval else "a(nswer) it?"
            return Question(f"{self.tool}: {words} > ")
        if not self._fields:
            return Question(f"{self.tool}: the answer, as JSON > ")
        field = self._fields[len(self._given)]
        return Question(f"{self.tool}: {field}{_hint(_field(self._schema, field))} > ")

    def concerns(self, line: str) -> bool:
        """Whether a line answers this, and is not for the model."""
        words = ("y", "yes", "n", "no", "e", "edit") if self.is_approval else ("a", "answer")
        return not self.idle or line.strip().lower() in words

    def take(self, line: str) -> Answer | None:
        """Take a line that concerns this. Where the answer is refused, it can be given again.

        Edited arguments that are refused can be edited further: nothing else is approved until they are given up.
        """
        self.problem = ""
        answer = self._take(line)
        if answer is not None and self._step != "edit":
            self._begin_again()
        return answer

    def _take(self, line: str) -> Answer | None:
        text = line.strip()
        if self._step and text.lower() == LATER:
            self._begin_again()
            return None
        if self._step == "reason":
            return Answer({"approved": False, **({"reason": text} if text else {})})
        if self._step == "edit":
            return self._edited(text)
        if self._step == "fields":
            return self._filled(text) if self._fields else self._answered(text)
        match text.lower()[:1]:
            case "y":
                return Answer({"approved": True})
            case "n":
                self._step = "reason"
            case "a":
                self._step = "fields"
            case _:
                self._step = "edit"
        return None

    def _begin_again(self) -> None:
        self._step, self._given, self._draft = "", {}, None

    def _edited(self, text: str) -> Answer | None:
        self._draft = text
        try:
            arguments = json.loads(text)
        except (ValueError, RecursionError):
            self.problem = f"That is not JSON; nothing was answered. Correct it, or type {LATER} to leave it as it was."
            return None
        return Answer({"approved": True, "arguments": arguments})

    def _answered(self, text: str) -> Answer | None:
        try:
            return Answer(json.loads(text))
        except (ValueError, RecursionError):
            self.problem = "That is not JSON."
            return None

    def _filled(self, text: str) -> Answer | None:
        field = self._fields[len(self._given)]
        schema = _field(self._schema, field)
        required = field in self._schema.get("required", ())
        if not text and required:
            self.problem = f"{field} is needed."
            return None
        self._given[field] = _MISSING if not text else _value(schema, text)
        if len(self._given) < len(self._fields):
            return None
        return Answer({name: value for name, value in self._given.items() if value is not _MISSING})


_MISSING: Any = object()
LATER = "later"
"""What one types to leave a question open that one has begun to answer."""


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", schema.get("properties") or {})


def _field(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The schema of a field; one that is defined elsewhere is looked up."""
    field = cast("Mapping[str, Any]", _properties(schema)[name])
    reference = str(field.get("$ref", ""))
    found = cast("Mapping[str, Any]", schema.get("$defs") or {}).get(reference.removeprefix("#/$defs/"))
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else field


def _hint(schema: Mapping[str, Any]) -> str:
    """What may be typed, in a few words."""
    if choices := schema.get("enum"):
        return f" ({', '.join(f'{number} {compact(each, 40)}' for number, each in enumerate(choices, 1))})"
    said = "y/n" if schema.get("type") == "boolean" else compact(schema.get("description", ""), 80)
    if "default" in schema:
        said = (
            f"{said}; Enter: {compact(schema['default'], 40)}" if schema["default"] != "" else f"{said}; may be empty"
        )
    return f" ({said})" if said else ""


def _value(schema: Mapping[str, Any], text: str) -> Any:
    """What a line means for a field. Whether it is right is judged by whoever asks."""
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
