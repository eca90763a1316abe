"""Past events, page by page from the newest backwards (H1)."""

from typing import Any

import pytest

from callboard import Runtime
from callboard.server import history
from tests.server.conftest import TOOLS, Served, serve

pytestmark = pytest.mark.anyio


async def filled(served: Served, count: int, text: str = "") -> None:
    """Create a session with so many events."""
    await served.session("s")
    session = await served.runtime.open("s", user_id="local")
    for number in range(1, count + 1):
        assert await session.notice(f"{number} {text}") == number


async def page(served: Served, **query: Any) -> dict[str, Any]:
    answer = await served.get("/api/events", {"session_id": "s", **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def numbers(found: dict[str, Any]) -> list[int]:
    return [event["seq"] for event in found["events"]]


async def test_h1_events_are_read_backwards_without_gap_or_repeat(served: Served) -> None:
    await filled(served, 120)
    newest = await page(served)
    assert numbers(newest) == list(range(21, 121))
    assert (newest["events"][0]["kind"], newest["events"][0]["data"]) == ("system_notice", {"message": "21 "})
    rest = await page(served, before=newest["next"], limit=500)
    assert (numbers(rest), rest["next"]) == (list(range(1, 21)), None)
    assert numbers(await page(served, before=3)) == [1, 2]
    assert await page(served, before=1) == {"events": [], "next": None}
    assert numbers(await page(served, before=10_000, limit=1)) == [120]
    found: list[int] = []
    before = None
    while True:
        some = await page(served, limit=7, **({} if before is None else {"before": before}))
        found = numbers(some) + found
        before = some["next"]
        if before is None:
            break
    assert found == list(range(1, 121))


async def test_h1_a_page_of_events_is_bounded_in_bytes(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_BYTES", 1_000)
    await filled(served, 9, "x" * 400)
    newest = await page(served)
    assert (numbers(newest), newest["next"]) == ([8, 9], 8)
    monkeypatch.setattr(history, "MAX_BYTES", 10)
    assert numbers(await page(served, before=8)) == [7], "a page has at least one event"


async def test_h1_no_event_is_missing_if_events_are_larger_than_one_read(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = served.runtime.store
    read = store.events

    async def small(session_id: str, after: int, limit: int) -> Any:
        return await read(session_id, after, limit, max_bytes=2_000)

    await filled(served, 30, "x" * 400)
    monkeypatch.setattr(store, "events", small)
    newest = await page(served, limit=25)
    assert numbers(newest) == list(range(6, 31))
    assert numbers(await page(served, before=newest["next"])) == [1, 2, 3, 4, 5]


async def test_h1_pages_end_at_the_oldest_stored_event(store_url: str) -> None:
    async with serve(Runtime(TOOLS, store=store_url, keep_events=10)) as served:
        await filled(served, 60)
        await served.runtime.store.trim("s", keep=10, before=0.0)
        found = await page(served, limit=500)
        assert (numbers(found)[-10:], found["next"]) == (list(range(51, 61)), None)
        assert numbers(await page(served, before=20)) == numbers(found)[: -len(range(20, 61))]


async def test_h1_events_of_another_user_are_not_found(served: Served) -> None:
    await filled(served, 2)
    assert (await served.get("/api/events", {"session_id": "s"}, x_user="bob")).status_code == 404
    for query in ({"before": 0}, {"limit": 0}, {"limit": 501}, {"before": "x"}):
        assert (await served.get("/api/events", {"session_id": "s", **query})).status_code == 422
