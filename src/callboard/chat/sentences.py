"""How the offline model speaks of results: a sentence for each, made of the call and its answer. Pure functions."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from .phrases import Task

LONGEST = 600
"""How many characters of a result it repeats."""


def sentence(tool: str, arguments: Mapping[str, Any], content: Any, failed: bool, tasks: Sequence[Task] = ()) -> str:
    """What there is to say of the answer to a call."""
    value = _value(content)
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
    of = str(arguments.get("execution_id", ""))
    if tool == "task_result":
        which = next((task.tool for task in reversed(tasks) if task.execution_id == of), None)
        if not failed and fields.get("status") not in ("started", "queued", "waiting"):
            return f"A result came in{f' from {which}' if which else ''}: {_told(which or '', {}, value)}"
        tool = which or tool
    if failed:
        return f"{tool} failed: {_ended(str(fields.get('message') or _plain(value)))}"
    if fields.get("status") == "waiting" and "execution_id" in fields:
        return f"{fields.get('tool', tool)} waits for a person; I will tell you what comes of it."
    if fields.get("status") == "queued" and "execution_id" in fields:
        return f"{fields.get('tool', tool)} is queued until there is a free place; I will tell you when it is done."
    if fields.get("status") == "started" and "execution_id" in fields:
        return f"{fields.get('tool', tool)} is running in the background; I will tell you when it is done."
    if (special := _SPECIAL.get(tool)) is not None:
        try:
            return special(arguments, value)
        except (KeyError, TypeError, ValueError, AttributeError):  # a tool of that name which is another's
            pass
    return f"{tool} gives {_told(tool, arguments, value)}"


def _value(content: Any) -> Any:
    """A result as data: tools' results come as JSON text, which may itself have been made of such a text."""
    for _ in range(2):
        if not isinstance(content, str):
            break
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            break
    return content


def _told(tool: str, arguments: Mapping[str, Any], value: Any) -> str:
    if (words := _RESULTS.get(tool)) is not None:
        try:
            return words(value)
        except (KeyError, TypeError, ValueError, AttributeError):
            pass
    return _ended(_plain(value))


def _plain(value: Any) -> str:
    """A value in words: fields with their names, lists with commas."""
    if isinstance(value, dict):
        fields = cast("Mapping[str, Any]", value)
        text = ", ".join(f"{name.replace('_', ' ')}: {_short(each)}" for name, each in fields.items()) or "nothing"
    elif isinstance(value, list):
        text = ", ".join(map(_short, cast("list[Any]", value))) or "nothing"
    else:
        text = _short(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _short(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


# What is said of tools that it knows.


def _time(arguments: Mapping[str, Any], value: Any) -> str:
    moment = datetime.fromisoformat(value["time"])
    return f"In {value['timezone']} it is {moment:%H:%M} on {value['weekday']}, {moment.day} {moment:%B %Y}."


def _sum(arguments: Mapping[str, Any], value: Any) -> str:
    return f"{arguments['expression']} = {_short(value)}."


def _stock(arguments: Mapping[str, Any], value: Any) -> str:
    return f"There are {value['pieces']} pieces of {value['item']} in stock."


def _payment(value: Any) -> str:
    return f"{value['amount']} {value['currency']} went to {value['to']} ({value['note']})."


def _delivery(value: Any) -> str:
    note = f" and the note '{value['note']}'" if value["note"] else ""
    return f"the parcel goes {value['how']}, {'with' if value['ring'] else 'without'} ringing{note}."


def _report(value: Any) -> str:
    return f"'{value['title']}' is ready: {value['pages']} pages in {len(value['chapters'])} chapters."


def _list(arguments: Mapping[str, Any], value: Any) -> str:
    if not value:
        return "Nothing is running, and nobody is asked anything."
    tasks = [f"{each['tool']} ({each['status']}, {each['execution_id']})" for each in value]
    return f"There is: {', '.join(tasks)}."


def _capitals(words: Callable[[Any], str]) -> Callable[[Mapping[str, Any], Any], str]:
    def said(arguments: Mapping[str, Any], value: Any) -> str:
        text = words(value)
        return text[0].upper() + text[1:]

    return said


_RESULTS: dict[str, Callable[[Any], str]] = {
    "send_payment": _payment,
    "ask_delivery": _delivery,
    "build_report": _report,
}
_SPECIAL: dict[str, Callable[[Mapping[str, Any], Any], str]] = {
    "get_current_time": _time,
    "convert_time": _time,
    "calculate": _sum,
    "check_stock": _stock,
    "task_list": _list,
    "task_status": lambda arguments, value: f"{value['tool']} is {value['status']}.",
    "cancel_task": lambda arguments, value: "It is stopped." if value["cancelled"] else "It had ended already.",
    "think": lambda arguments, value: "I have written that down.",
    **{tool: _capitals(words) for tool, words in _RESULTS.items()},
}
