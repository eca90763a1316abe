"""The `web` toolkit: search the web with a provider of your choice, and read pages as Markdown.

`tools` take the provider from the environment (`CALLBOARD_SEARCH_PROVIDER`, `CALLBOARD_SEARCH_KEY`,
`CALLBOARD_SEARCH_URL`); `web_tools` makes them for a provider of your own. It needs the extra `http`.
"""

from .page import WebPage, html_to_markdown
from .providers import Brave, SearXNG, Tavily
from .search import SearchHit, SearchProvider, SearchQuery, SearchResults
from .tools import tools, web_fetch, web_search, web_tools

__all__ = [
    "Brave",
    "SearXNG",
    "SearchHit",
    "SearchProvider",
    "SearchQuery",
    "SearchResults",
    "Tavily",
    "WebPage",
    "html_to_markdown",
    "tools",
    "web_fetch",
    "web_search",
    "web_tools",
]
