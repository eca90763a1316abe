"""The `http` toolkit: fetching from the public internet, and from nowhere else.

`tools` is what a registry takes. `fetch_tools` makes the same tools over a guard and limits of one's own, and `Fetcher`
is what they stand on.
"""

try:
    import httpx2 as _  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError('The http toolkit needs: pip install "callboard[http]"', name=error.name) from None

from .answer import FetchResult
from .fetch import Fetcher, Limits, fetch_tools, http_fetch, http_post, tools
from .guard import Guard

__all__ = ["FetchResult", "Fetcher", "Guard", "Limits", "fetch_tools", "http_fetch", "http_post", "tools"]
