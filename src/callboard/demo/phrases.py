"""Phrases that the offline model understands, and the calls that they mean. Pure functions, no model.

| phrase | call |
| --- | --- |
| `what time is it`, `time in Tokyo`, `time in Asia/Tokyo and Europe/Paris` | `get_current_time`, once for each zone |
| `convert 2026-03-29T14:30 from Europe/Paris to Asia/Tokyo` | `convert_time` |
| `what is 12 * (3 + 4)`, `calculate 7 / 2` | `calculate` |
| `check the stock of lamps` | `check_stock` |
| `build a report on coffee`, `report about tea with 5 chapters` | `build_report` |
| `index the letters`, `index the letters with 20 pages` | `index_archive` |
| `pay 25 EUR to Ada for lunch` | `send_payment` |
| `deliver the lamp` | `ask_delivery` |
| `send 0.01 ETH to Ada`, `send 0.01 ETH to 0x…` | `send_ether`, on the test network Sepolia |
| `think about …` | `think` |
| `fetch https://…` | `http_fetch` |
| `list tasks`, `what is running` | `task_list` |
| `status of x1-1`, `result of the report`, `cancel it` | the other `task_…` tools, by id, by tool, or the newest |
| `NAME {"argument": …}` | any tool that the session sees, by its name |

`page_phrases` has the phrases for tools of the page. Phrases joined by `and` or `;` become parallel calls. A phrase
whose tool the session does not see means nothing; the name of an unknown tool with arguments is reported by
`unknown_tools_in`, and that of a known tool with arguments that are not JSON by `broken_arguments_in`.
"""

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from itertools import islice, pairwise
from typing import Any, NamedTuple
from zoneinfo import available_timezones

from .page_phrases import PAGE_EXAMPLES, Call, page_calls_in


class Task(NamedTuple):
    """An acknowledged execution, running or ended."""

    execution_id: str
    tool: str


MAX_TEXT = 100_000
"""Characters of an input that are read, at most."""
MAX_BROKEN = 5
"""Tools with arguments that are not JSON, at most."""

EXAMPLES = (
    ("get_current_time", "what time is it in Tokyo and Paris"),
    ("calculate", "what is 12 * (3 + 4)"),
    ("check_stock", "check the stock of lamps"),
    ("build_report", "build a report on coffee"),
    ("index_archive", "index the letters"),
    ("send_payment", "pay 25 EUR to Ada for lunch"),
    ("ask_delivery", "deliver the lamp"),
    ("send_ether", "send 0.01 ETH to Ada"),
    ("think", "think about the weather"),
    ("http_fetch", "fetch https://example.com"),
    ("task_list", "list tasks"),
)
"""An example phrase for each tool that the offline model knows."""


def examples(names: Sequence[str]) -> list[str]:
    """The example phrases for the tools with these names."""
    return [phrase for tool, phrase in (*EXAMPLES, *PAGE_EXAMPLES) if tool in names]


def calls_in(text: str, names: Sequence[str], tasks: Sequence[Task] = ()) -> list[Call]:
    """The calls that a text means, of the tools with these names."""
    found, rest = _named(text[:MAX_TEXT], frozenset(names))
    for phrase in re.split(r" and |;|\n", re.sub(r"[^\S\n]+", " ", rest)):
        words = " ".join(phrase.split()).rstrip(" .!?")
        if words in names:
            found.append((words, {}))
        elif words:
            found += page_calls_in(words, names) or next(
                (calls for match in _MATCHERS if (calls := match(words, tasks))), list[Call]()
            )
    return [call for call in found if call[0] in names]


def unknown_tools_in(text: str, names: Sequence[str]) -> list[str]:
    """Names followed by arguments that belong to no tool."""
    _, rest = _named(text[:MAX_TEXT], frozenset(names))
    rest = re.sub(r"[^\S\n]+", " ", rest)
    return list(dict.fromkeys(name[1] for name in _NAME_WITH_ARGUMENTS.finditer(rest) if _object_at(rest, name.end())))


def broken_arguments_in(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """The first tools whose names are followed by arguments that are not JSON, each with the reason."""
    _, rest = _named(text[:MAX_TEXT], frozenset(names))
    known = (name for name in _NAME_WITH_ARGUMENTS.finditer(rest) if name[1] in names)
    return [(name[1], _problem_of(rest[name.end() :])) for name in islice(known, MAX_BROKEN)]


def _problem_of(text: str) -> str:
    """The reason why a text does not begin with JSON."""
    try:
        _JSON.raw_decode(text)
    except json.JSONDecodeError as error:
        return f"{error.msg}, at line {error.lineno}, column {error.colno}"
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return "it is not an object"


def _named(text: str, names: frozenset[str]) -> tuple[list[Call], str]:
    """Calls written as a name and JSON, and the rest of the text."""
    found: list[Call] = []
    rest: list[str] = []
    position = 0
    for name in re.finditer(r"(?<![\w-])([\w-]{1,128}) ?(?=\{)", text):
        if name.start() < position or name[1] not in names:
            continue
        if (parsed := _object_at(text, name.end())) is None:
            continue
        arguments, end = parsed
        found.append((name[1], arguments))
        rest.append(text[position : name.start()])
        position = end
    return found, " and ".join([*rest, text[position:]])


def _object_at(text: str, position: int) -> tuple[dict[str, Any], int] | None:
    """The JSON object at a position, and its end."""
    if _OBJECT.match(text, position) is None:  # an error of the decoder counts all lines before it
        return None
    try:
        return _JSON.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_OBJECT = re.compile(r'\{[ \t\r\n]*["}]')
_JSON = json.JSONDecoder(parse_constant=_no_constant)
_NAME_WITH_ARGUMENTS = re.compile(r"(?:^|[;\n]| and ) ?([\w-]{1,128}) ?(?=\{)")


# Each matcher takes a phrase on one line, and returns the calls that it means, if any.

_ZONE = re.compile(r"\b([A-Z][A-Za-z_]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?|UTC)\b")
_ADDRESS = re.compile(r"https?://[^\s'\"<>]+")
_WORK = re.compile(r"\b(status|result|cancel|stop)(?: of)?(?: the)? (x[0-9a-f]+-\d+|it|that|[\w-]+)", re.IGNORECASE)
_LIST = re.compile(r"\b(list|my|open|running) tasks?\b|\bwhat is (running|going on)\b", re.IGNORECASE)
_SUM = re.compile(r"(?:what is|what's|calculate|compute|work out|how much is) ([-+*/().\d ]+)$", re.IGNORECASE)
_BARE_SUM = re.compile(r"[-+*/().\d ]+")
_REPORT = re.compile(r"\breport (?:on|about|of) (.+?)(?: with (\d{1,2}) chapters?)?$", re.IGNORECASE)
_INDEX = re.compile(r"^(?:please )?index(?: the| an?| my)? (?!of\b)(.+?)(?: with (\d{1,5}) pages?)?$", re.IGNORECASE)
_STOCK = re.compile(r"\b(?:stock of|how many|in stock:?) (.+?)(?: are (?:there|in stock))?$", re.IGNORECASE)
_PAY = re.compile(
    r"\b(?:pay|send|transfer) ([$€£])?(\d{1,9}(?:\.\d{1,2})?) ?(EUR|USD|GBP|CHF|euros?|dollars?|pounds?|francs?)? to "
    r"(.+?)(?: for (.+))?$",
    re.IGNORECASE,
)
_ETHER = re.compile(
    r"\b(?:pay|send|transfer) (\d{1,9}(?:\.\d{1,18})?) ?(?:ETH|ether) to (0x[0-9a-f]{40}|Ada)\b(?: for (.+))?$",
    re.IGNORECASE,
)
_ADA = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
"""An address for examples, from the text of EIP-55."""
_DELIVER = re.compile(r"\b(?:deliver|ship)(?: the| a| an| my)? (.+)$", re.IGNORECASE)
_THINK = re.compile(r"\bthink (?:about|of) (.+)$", re.IGNORECASE)
_CONVERT = re.compile(r"\bconvert (\S+)(?: from (\S+))? to (\S+)$", re.IGNORECASE)
_CURRENCIES = {"e": "EUR", "€": "EUR", "d": "USD", "$": "USD", "u": "USD", "p": "GBP", "£": "GBP", "g": "GBP"}


def _work(phrase: str, tasks: Sequence[Task]) -> list[Call]:
    if _LIST.search(phrase):
        return [("task_list", {})]
    tools = {"status": "task_status", "result": "task_result", "cancel": "cancel_task", "stop": "cancel_task"}
    found: list[Call] = []
    for verb, reference in _WORK.findall(phrase):
        if (execution_id := _execution(reference.lower(), tasks)) is not None:
            found.append((tools[verb.lower()], {"execution_id": execution_id}))
    return found


def _execution(word: str, tasks: Sequence[Task]) -> str | None:
    """The id of the execution that a word means: an id, "it" for the newest, or a part of its tool's name."""
    if re.fullmatch(r"x[0-9a-f]+-\d+", word):
        return word
    newest = word in ("it", "that", "task")
    matching = [task for task in tasks if newest or word in (task.tool.lower(), *task.tool.lower().split("_"))]
    return matching[-1].execution_id if matching else None


def _time(phrase: str, tasks: Sequence[Task]) -> list[Call]:
    zones = _ZONE.findall(phrase)
    cities = _cities()
    places = [cities[word] for word in _places(phrase) if word in cities]
    if not (zones or places) and (place := _IN.search(phrase)):
        places = [cities.get(place[1].title(), place[1])]  # the tool says that it does not know another place
    names_time = re.search(r"\b(time|clock|date)\b", phrase, re.IGNORECASE)
    if not names_time and (not (zones or places) or len(phrase.split()) > 3):
        return []
    return [("get_current_time", {"timezone": zone}) for zone in dict.fromkeys([*zones, *places]) or ["UTC"]]


_IN = re.compile(r"\b(?:time|clock|date)\b.* in (?!the\b|a\b|an\b|my\b|our\b|your\b|this\b)([a-z]+)", re.IGNORECASE)


def _places(phrase: str) -> list[str]:
    """Possible names of cities: capitalised words, alone and in pairs."""
    words = re.findall(r"(?<![\w/])[A-Z][A-Za-z]+(?![\w/])", phrase)[:50]
    return [*words, *(f"{first}_{second}" for first, second in pairwise(words))]


@cache
def _cities() -> dict[str, str]:
    """Time zones named after a city, by the city's name."""
    areas = ("Africa", "America", "Asia", "Atlantic", "Australia", "Europe", "Pacific")
    zones = sorted(available_timezones(), key=lambda zone: (zone.count("/"), zone), reverse=True)
    return {zone.rpartition("/")[2]: zone for zone in zones if zone.partition("/")[0] in areas}


def _convert(phrase: str, tasks: Sequence[Task]) -> list[Call]:
    if (found := _CONVERT.search(phrase)) is None:
        return []
    arguments = {"time": found[1], "from_timezone": found[2], "to_timezone": found[3]}
    return [("convert_time", {name: value for name, value in arguments.items() if value is not None})]


def _calculate(phrase: str, tasks: Sequence[Task]) -> list[Call]:
    found = _SUM.search(phrase)
    if found is None and (_BARE_SUM.fullmatch(phrase) is None or re.search(r"\d[ )]*[-+*/]", phrase) is None):
        return []
    expression = phrase if found is None else found[1]
    return [("calculate", {"expression": expression.strip()})] if any(map(str.isdecimal, expression)) else []


def _report(phrase: str, tasks: Sequence[Task]) -> list[Call]:
    if (found := _REPORT.search(phrase)) is None:
        return []
    chapters = {"chapters": int(found[2])} if found[2] else {}
    return [("build_report", {"subject": found[1], **chapters})]


def _index(phrase: str, tasks: Sequence[Task]) -> list[Call]:
    if (found := _INDEX.search(phrase)) is None:
        return []
    pages = {"pages": int(found[2])} if found[2] else {}
    return [("index_archive", {"archive": found[1], **pages})]


def _pay(phrase: str, tasks: Sequence[Task]) -> list[Call]:
    if (found := _PAY.search(phrase)) is None:
        return []
    sign, amount, currency, to, purpose = found.groups()
    arguments = {"amount": amount, "to": to}
    if unit := currency or sign:
        arguments["currency"] = _CURRENCIES.get(unit[0].lower(), "CHF")
    return [("send_payment", arguments if purpose is None else {**arguments, "purpose": purpose})]


def _ether(phrase: str, tasks: Sequence[Task]) -> list[Call]:
    if (found := _ETHER.search(phrase)) is None:
        return []
    amount, to, purpose = found.groups()
    arguments = {
        "to": to if to.startswith("0x") else _ADA,
        "value": str(int(Decimal(amount).scaleb(18))),
        "data": "0x",
        "description": f"Send {amount} test ether to {to}{f' for {purpose}' if purpose else ''}",
        "chain_id": 11155111,
    }
    return [("send_ether", arguments)]


def _single(pattern: re.Pattern[str], tool: str, argument: str) -> Callable[[str, Sequence[Task]], list[Call]]:
    """Make a matcher for a tool with one argument."""

    def match(phrase: str, tasks: Sequence[Task]) -> list[Call]:
        found = pattern.search(phrase)
        return [(tool, {argument: found[1]})] if found else []

    return match


def _fetch(phrase: str, tasks: Sequence[Task]) -> list[Call]:
    return [("http_fetch", {"url": address}) for address in _ADDRESS.findall(phrase)]


_MATCHERS: tuple[Callable[[str, Sequence[Task]], list[Call]], ...] = (
    _fetch,
    _single(_THINK, "think", "thought"),
    _ether,
    _pay,
    _report,
    _index,
    _single(_STOCK, "check_stock", "item"),
    _single(_DELIVER, "ask_delivery", "parcel"),
    _calculate,
    _convert,
    _work,
    _time,
)
