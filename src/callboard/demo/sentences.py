"""The sentences in which the offline model reports results. Pure functions."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from .phrases import Task

MAX_RESULT = 600
"""Characters of a result that a sentence repeats, at most."""
ACKNOWLEDGEMENTS = {
    "started": "is running in the background; I will tell you when it is done.",
    "queued": "is queued until a slot is free; I will tell you when it is done.",
    "waiting": "is waiting for a person; I will tell you the result.",
}
"""The sentence about a call that was only acknowledged, by its status."""


def sentence(tool: str, arguments: Mapping[str, Any], content: Any, failed: bool, tasks: Sequence[Task] = ()) -> str:
    """Report the result of a call in a sentence."""
    value = _value(content)
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
    status = str(fields.get("status"))
    if tool == "task_result":
        execution_id = str(arguments.get("execution_id", ""))
        origin = next((task.tool for task in reversed(tasks) if task.execution_id == execution_id), None)
        if not failed and status not in ACKNOWLEDGEMENTS:
            described = _attempt(_DESCRIPTIONS.get(origin or ""), value) or _ended(_plain(value))
            return f"A result came in{f' from {origin}' if origin else ''}: {described}"
        tool = origin or tool
    if failed:
        return f"{tool} failed: {_ended(str(fields.get('message') or _plain(value)))}"
    if status in ACKNOWLEDGEMENTS and "execution_id" in fields:
        return f"{fields.get('tool', tool)} {ACKNOWLEDGEMENTS[status]}"
    if special := _attempt(_SENTENCES.get(tool), arguments, value):
        return special
    if described := _attempt(_DESCRIPTIONS.get(tool), value):
        return described[0].upper() + described[1:]
    return f"{tool} gives {_ended(_plain(value))}"


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


def _attempt(write: Callable[..., str] | None, *given: Any) -> str | None:
    """Describe the result of a known tool. None if the tool is not known, or is another one with that name."""
    try:
        return None if write is None else write(*given)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


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


def _ether(value: Any) -> str:
    number = f" (transaction {value['transaction_hash']})" if value["transaction_hash"] else ""
    return f"the transaction was {value['status']}{number}. {value['detail'] or ''}".strip()


def _report(value: Any) -> str:
    return f"'{value['title']}' is ready: {value['pages']} pages in {len(value['chapters'])} chapters."


def _index(value: Any) -> str:
    continued = f", continued at page {value['first_page']}" if value["first_page"] > 1 else ""
    return f"the {value['pages']} pages of {value['archive']} are indexed{continued}."


def _here(arguments: Mapping[str, Any], value: Any) -> str:
    return f"You are at {value['address']} ({value['title']}), in the time zone {value['time_zone']}."


def _local_time(arguments: Mapping[str, Any], value: Any) -> str:
    return f"Where you are it is {value['text']} ({value['time_zone']})."


def _list(arguments: Mapping[str, Any], value: Any) -> str:
    if not value:
        return "Nothing is running, and no request is open."
    tasks = [f"{each['tool']} ({each['status']}, {each['execution_id']})" for each in value]
    return f"These tasks are open: {', '.join(tasks)}."


_DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "send_payment": _payment,
    "ask_delivery": _delivery,
    "send_ether": _ether,
    "build_report": _report,
    "index_archive": _index,
}
_SENTENCES: dict[str, Callable[[Mapping[str, Any], Any], str]] = {
    "get_current_time": _time,
    "convert_time": _time,
    "calculate": _sum,
    "check_stock": _stock,
    "task_list": _list,
    "task_status": lambda arguments, value: f"{value['tool']} is {value['status']}.",
    "cancel_task": lambda arguments, value: "It is cancelled." if value["cancelled"] else "It had already ended.",
    "where_am_i": _here,
    "local_time": _local_time,
    "copy_to_clipboard": lambda arguments, value: "It is in your clipboard.",
    "download_file": lambda arguments, value: f"Your browser has saved {value['name']}.",
    "show_notification": lambda arguments, value: "I have notified you.",
    "think": lambda arguments, value: "I have written that down.",
}
