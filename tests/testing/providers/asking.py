"""Requests to a double without a network, and tables of accepted and refused requests."""

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
    """Changes to an accepted request: those after which it is still accepted, and those after which it is refused."""

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
