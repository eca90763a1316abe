"""The search providers: Brave, SearXNG and Tavily. Each turns a query into one request, and its answer into hits."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast
from urllib.parse import urlencode

from callboard import ToolError

from ..http import Fetcher, FetchResult, Guard, Limits
from ..http.json_text import read_json
from ..http.response import INTERRUPTED
from .search import SearchHit, SearchQuery, make_hit

LIMITS = Limits(max_bytes=2_000_000, total_seconds=15.0, connect_seconds=6.0, max_redirects=0)
ANYWHERE = Guard(allow=["0.0.0.0/0", "::/0"])
"""The operator chose the address of the provider, so it may be in any network."""

MAX_PAGES = 10
"""Pages of a SearXNG instance that are read for a search."""

Fields = Mapping[str, Any]


class Brave:
    """The search API of Brave."""

    name = "brave"

    def __init__(self, key: str, url: str = "https://api.search.brave.com/res/v1/web/search") -> None:
        self._key = key
        self._url = url

    async def search(self, query: SearchQuery) -> tuple[list[SearchHit], bool]:
        """Search the web. Raises `ToolError`."""
        short = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
        fields = {
            "q": query.query,
            "count": query.count,
            "offset": query.offset,
            "safesearch": query.safesearch,
            "search_lang": query.lang,
            "country": query.country,
            "freshness": None if query.freshness is None else short.get(query.freshness, query.freshness),
        }
        headers = {"x-subscription-token": self._key, "accept": "application/json"}
        answer = await _get(self.name, self._url, fields, headers)
        results = _list(_object(answer.get("web")).get("results"))
        hits = (
            make_hit(
                each.get("title"), each.get("url"), each.get("description"), each.get("page_age") or each.get("age")
            )
            for each in results
        )
        has_more = _object(answer.get("query")).get("more_results_available") is True
        return _found(hits, query), has_more


class SearXNG:
    """A SearXNG instance, which must allow the format `json`. It decides how many hits a page has.

    Its pages are read from the first one on, because an offset counts hits, and pages differ in size.
    """

    name = "searxng"

    def __init__(self, url: str, key: str | None = None) -> None:
        self._url = f"{url.rstrip('/')}/search"
        self._key = key

    async def search(self, query: SearchQuery) -> tuple[list[SearchHit], bool]:
        """Search the web. A range of dates is not possible. Raises `ToolError`."""
        if query.freshness is not None and "to" in query.freshness:
            raise ToolError(
                "This provider knows no range of dates. Use day, week, month or year.", category="validation"
            )
        fields = {
            "q": query.query,
            "format": "json",
            "safesearch": ("off", "moderate", "strict").index(query.safesearch),
            "language": f"{query.lang}-{query.country}" if query.lang and query.country else query.lang,
            "time_range": query.freshness,
        }
        headers = {"accept": "application/json", **({"authorization": f"Bearer {self._key}"} if self._key else {})}
        start, results = query.offset * query.count, list[Fields]()
        end = start + query.count
        for page in range(1, MAX_PAGES + 1):
            answer = await _get(self.name, self._url, {**fields, "pageno": page}, headers)
            results += (found := _list(answer.get("results")))
            if not found or len(results) >= end:
                break
        hits = (
            make_hit(each.get("title"), each.get("url"), each.get("content"), each.get("publishedDate"))
            for each in results[start:]
        )
        return _found(hits, query), len(results) >= end


class Tavily:
    """The search API of Tavily. It has no pages: an offset takes the later part of a longer list."""

    name = "tavily"

    def __init__(self, key: str, url: str = "https://api.tavily.com/search") -> None:
        self._key = key
        self._url = url

    async def search(self, query: SearchQuery) -> tuple[list[SearchHit], bool]:
        """Search the web. Raises `ToolError`."""
        start = query.offset * query.count
        wanted = min(20, start + query.count)
        if start >= wanted:
            return [], False
        body: dict[str, Any] = {"query": query.query, "max_results": wanted}
        if query.freshness is not None:
            first, _, last = query.freshness.partition("to")
            body |= {"start_date": first, "end_date": last} if last else {"time_range": query.freshness}
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        answer = await _ask(self.name, self._url, headers, json.dumps(body))
        results = _list(answer.get("results"))
        hits = (
            make_hit(each.get("title"), each.get("url"), each.get("content"), each.get("published_date"))
            for each in results[start:]
        )
        return _found(hits, query), len(results) == wanted < 20


def _found(hits: Iterable[SearchHit | None], query: SearchQuery) -> list[SearchHit]:
    return [hit for hit in hits if hit is not None][: query.count]


async def _get(provider: str, url: str, fields: Mapping[str, object], headers: Mapping[str, str]) -> Fields:
    given = {name: value for name, value in fields.items() if value is not None}
    return await _ask(provider, f"{url}?{urlencode(given)}", headers)


async def _ask(provider: str, url: str, headers: Mapping[str, str], body: str | None = None) -> Fields:
    """Send a request to a provider. Errors name the provider, and neither its address nor the key."""
    try:
        async with Fetcher(guard=ANYWHERE, limits=LIMITS) as fetcher:
            method = "GET" if body is None else "POST"
            return _read(provider, await fetcher.fetch(url, method=method, headers=headers, body=body))
    except ToolError as error:
        if error.message.startswith("The search provider"):
            raise
        category = error.category if error.may_retry else "configuration"
        message = f"The search provider {provider} cannot be reached."
        raise ToolError(message, category=category, report=error.message) from error


def _read(provider: str, answer: FetchResult) -> Fields:
    """Parse the answer of a provider. Raises `ToolError`."""
    name, status = f"The search provider {provider}", answer.status
    if status == 429:
        after = answer.headers.get("retry-after", "")
        raise ToolError(
            f"{name} limits its requests.",
            category="rate_limited",
            retry_after=float(after) if after.isdecimal() and len(after) < 7 else None,
        )
    if status in (401, 403):
        raise ToolError(f"{name} refuses the key. Check CALLBOARD_SEARCH_KEY.", category="configuration")
    if status in (400, 422):
        raise ToolError(f"{name} refuses the query. Write it differently.", category="validation")
    if status >= 500:
        raise ToolError(f"{name} answered with status {status}.", category="transient")
    if status != 200:
        raise ToolError(f"{name} answered with status {status}.", category="configuration")
    if answer.truncated and (category := INTERRUPTED.get(answer.note)) is not None:
        raise ToolError(f"{name} did not send its whole answer.", category=category)
    try:
        read: object = read_json(answer.text)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict) or answer.truncated:
        raise ToolError(f"{name} did not answer with a list of results.", category="permanent")
    return cast("Fields", read)


def _object(value: object) -> Fields:
    return cast("Fields", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Fields]:
    return [_object(each) for each in cast("list[object]", value)] if isinstance(value, list) else []
