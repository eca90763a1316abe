"""Asking a double without a network, and tables of what it takes and refuses."""

import copy
from collections.abc import Callable
from typing import Any

import httpx2

from callboard.testing.providers import Double

Body = dict[str, Any]
Change = Callable[[Body], Any]

HEADERS = {
    "anthropic": {"x-api-key": "none", "anthropic-version": "2023-06-01"},
    "openai": {"authorization": "Bearer none"},
    "gemini": {"x-goog-api-key": "none"},
}


async def ask(double: Double, path: str, body: Any, headers: dict[str, str]) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=double), base_url="http://double") as client:
        if isinstance(body, str):
            return await client.post(path, content=body, headers=headers)
        return await client.post(path, json=body, headers=headers)


class Table:
    """Changes to a request that is taken: those after which it is taken still, and those after which it is not."""

    def __init__(self, base: Body) -> None:
        self.base = base
        self.refused: list[tuple[str, str, Change]] = []
        self.taken: list[Change] = []

    def refuses(self, rule: str, message: str) -> Callable[[Change], Change]:
        def add(change: Change) -> Change:
            self.refused.append((rule, message, change))
            return change

        return add

    def takes(self, change: Change) -> Change:
        self.taken.append(change)
        return change

    def changed(self, change: Change) -> Body:
        body = copy.deepcopy(self.base)
        change(body)
        return body
