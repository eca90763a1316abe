"""The sentences in which the offline model reports results. Pure functions."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from .phrases import Task

MAX_RESULT = 600
"""Characters of a result that a sentence repeats, at most."""


def sentence(tool: str, arguments: Mapping[str, Any], content: Any, failed: bool, tasks: Sequence[Task] = ()) -> str:
    """Report the result of a call in a sentence."""
    value = _value(content)
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
    if tool == "task_result":
        execution_id = str(arguments.get("execution_id", ""))
        origin = next((task.tool for task in reversed(tasks) if task.execution_id == execution_id), None)
        if not failed and fields.get("status") not in ("started", "queued", "waiting"):
            return f"A result came in{f' from {origin}' if origin else ''}: {_described(origin or '', value)}"
        tool = origin or tool
    if failed:
        return f"{tool} failed: {_ended(str(fields.get('message') or _plain(value)))}"
    if fields.get("status") == "waiting" and "execution_id" in fields:
        return f"{fields.get('tool', tool)} is waiting for a person; I will tell you the result."
    if fields.get("status") == "queued" and "execution_id" in fields:
        return f"{fields.get('tool', tool)} is queued until a slot is free; I will tell you when it is done."
    if fields.get("status") == "started" and "execution_id" in fields:
        return f"{fields.get('tool', tool)} is running in the background; I will tell you when it is done."
    if (special := _SPECIAL.get(tool)) is not None:
        try:
            return special(arguments, value)
        except (KeyError, TypeError, ValueError, AttributeError):  # another tool with that name
            pass
    return f"{tool} gives {_described(tool, value)}"


def _value(content: Any) -> Any:
    """Parse a result: JSON text, which may hold a string that is JSON text again."""
    for _ in range(2):
        if not isinstance(content, str):
            break
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            break
    return content


def _described(tool: str, value: Any) -> str:
    if (describe := _RESULTS.get(tool)) is not None:
        try:
            return describe(value)
        except (KeyError, TypeError, ValueError, AttributeError):
            pass
    return _ended(_plain(value))


def _plain(value: Any) -> str:
    """Describe any value in words: fields with their names, lists with commas."""
    if isinstance(value, dict):
        fields = cast("Mapping[str, Any]", value)
        text = ", ".join(f"{name.replace('_', ' ')}: {_short(each)}" for name, each in fields.items()) or "nothing"
    elif isinstance(value, list):
        text = ", ".join(map(_short, cast("list[Any]", value))) or "nothing"
    else:
        text = _short(value)
    return text if len(text) <= MAX_RESULT else f"{text[:MAX_RESULT]}…"


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


# Sentences for the tools that the offline model knows.


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
        return "Nothing is running, and no request is open."
    tasks = [f"{each['tool']} ({each['status']}, {each['execution_id']})" for each in value]
    return f"These tasks are open: {', '.join(tasks)}."


def _capitalised(describe: Callable[[Any], str]) -> Callable[[Mapping[str, Any], Any], str]:
    def sentence(arguments: Mapping[str, Any], value: Any) -> str:
        text = describe(value)
        return text[0].upper() + text[1:]

    return sentence


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
    "cancel_task": lambda arguments, value: "It is cancelled." if value["cancelled"] else "It had already ended.",
    "think": lambda arguments, value: "I have written that down.",
    **{tool: _capitalised(describe) for tool, describe in _RESULTS.items()},
}
