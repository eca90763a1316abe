"""The tools `web_search` and `web_fetch`."""

from functools import partial
from typing import Annotated

import anyio.to_thread
from pydantic import Field

from callboard import CallboardError, RetryPolicy, Settings, Tool, ToolContext, ToolError, tool

from ..http import BY_HOST, Fetcher, Guard, Limits
from .page import MAX_LINKS, WebPage, read_page
from .providers import Brave, SearXNG, Tavily
from .search import FRESHNESS, SafeSearch, SearchProvider, SearchQuery, SearchResults

DEFAULT_CHARACTERS = 20_000
MAX_CHARACTERS = 200_000
MAX_BYTES = 1_000_000
ACCEPT = {"accept": "text/html, text/*;q=0.9, application/json;q=0.8"}


def configured_provider() -> SearchProvider:
    """Make the provider that the environment names. Raises `ToolError` (configuration) if there is none."""
    try:
        settings = Settings.from_environment()
    except CallboardError as error:
        raise ToolError("The settings cannot be read.", category="configuration", report=str(error)) from error
    name, key, url = settings.search_provider, settings.search_key, settings.search_url
    if name == "searxng" and url is not None:
        return SearXNG(url, key)
    if name == "brave" and key is not None:
        return Brave(key) if url is None else Brave(key, url)
    if name == "tavily" and key is not None:
        return Tavily(key) if url is None else Tavily(key, url)
    raise ToolError(
        "There is no search provider. Set CALLBOARD_SEARCH_KEY to a key of Brave's search API, or choose another "
        "provider with CALLBOARD_SEARCH_PROVIDER (brave, tavily or searxng, which needs CALLBOARD_SEARCH_URL).",
        category="configuration",
    )


def web_tools(
    provider: SearchProvider | None = None, *, guard: Guard | None = None, limits: Limits | None = None
) -> tuple[Tool, ...]:
    """Make the toolkit's tools. Without a provider, each search reads it from the environment."""

    @tool(
        namespace="web",
        group="web",
        tags=("network",),
        idempotent=True,
        timeout=20.0,
        total_timeout=60.0,
        retry=RetryPolicy(max_attempts=3, base_delay=0.5, max_delay=5.0),
        usage="Search first, then read the pages that you need with web_fetch.",
    )
    async def web_search(
        query: Annotated[str, Field(min_length=1, max_length=400, description="Words to search for")],
        count: Annotated[int, Field(ge=1, le=20, description="Number of hits")] = 10,
        offset: Annotated[int, Field(ge=0, le=9, description="Pages of hits to skip")] = 0,
        lang: Annotated[
            str | None, Field(pattern=r"^[a-z]{2}(-[A-Za-z]{2,4})?$", description="Language of the pages, such as en")
        ] = None,
        country: Annotated[
            str | None, Field(pattern=r"^[A-Z]{2}$", description="Country of the pages, such as DE")
        ] = None,
        safesearch: Annotated[SafeSearch, Field(description="Filter for adult content")] = "moderate",
        freshness: Annotated[
            str | None,
            Field(
                pattern=rf"^({FRESHNESS})$",
                description="Age of the pages: day, week, month, year, or dates such as 2026-01-01to2026-01-31",
            ),
        ] = None,
    ) -> SearchResults:
        """Search the web and return titles, addresses and extracts of pages."""
        chosen = provider or configured_provider()
        hits, has_more = await chosen.search(
            SearchQuery(
                query=query,
                count=count,
                offset=offset,
                lang=lang,
                country=country,
                safesearch=safesearch,
                freshness=freshness,
            )
        )
        return SearchResults(query=query, provider=chosen.name, hits=hits, has_more=has_more)

    @tool(namespace="web", group="web", tags=("network",), idempotent=True, timeout=30.0, breaker=BY_HOST)
    async def web_fetch(
        ctx: ToolContext,
        url: Annotated[str, Field(description="Address of the page, beginning with https:// or http://")],
        max_characters: Annotated[
            int, Field(ge=100, le=MAX_CHARACTERS, description="Truncate the text after this many characters")
        ] = DEFAULT_CHARACTERS,
        start: Annotated[int, Field(ge=0, description="Skip this many characters, to read on after a truncation")] = 0,
        max_links: Annotated[int, Field(ge=0, le=MAX_LINKS, description="Return at most this many links")] = 20,
    ) -> WebPage:
        """Read a page of the public web as Markdown: its text, without menus, scripts and forms, and its links."""
        async with Fetcher(guard=guard, limits=limits, user_id=ctx.user_id) as fetcher:
            answer = await fetcher.fetch(url, headers=ACCEPT, max_bytes=MAX_BYTES)
        if answer.status >= 400:
            category = "not_found" if answer.status in (404, 410) else "permanent"
            category = "transient" if answer.status >= 500 or answer.status == 429 else category
            raise ToolError(f"The page answered with status {answer.status}.", category=category)
        # in a thread: a large page takes a second, during which other calls continue
        read = partial(read_page, answer, start=start, max_characters=max_characters, max_links=max_links)
        return await anyio.to_thread.run_sync(read)

    return web_search, web_fetch


tools = web_tools()
web_search, web_fetch = tools
