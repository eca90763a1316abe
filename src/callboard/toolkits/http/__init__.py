"""The `http` toolkit: fetch from the public internet, and from no other network.

Register `tools`, or make them with your own guard and limits by `fetch_tools`. Both use `Fetcher`.
"""

try:
    import httpx2 as _  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError('The http toolkit needs: pip install "callboard[http]"', name=error.name) from None

from .fetch import BY_HOST, Fetcher, Limits, fetch_tools, http_fetch, http_post, tools
from .guard import Guard
from .response import FetchResult

__all__ = ["BY_HOST", "FetchResult", "Fetcher", "Guard", "Limits", "fetch_tools", "http_fetch", "http_post", "tools"]
