"""Titles of sessions over HTTP (H1, H5)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callboard import Runtime
from callboard.storage.change import Change
from callboard.storage.titles import AUTOMATIC_LENGTH, automatic_title, clean_title
from tests.server.conftest import DEADLINE, TOOLS, Served, serve

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Plan a trip", "Plan a trip"),
        ("\n \t\n  Plan\ta   trip \r\nto Rome", "Plan a trip"),
        ("\u202egnp.exe\u202c\x07 is \x1b[31mred", "gnp.exe is [31mred"),
        ("\u200f\u2066\nsecond line", "second line"),
        ("👩\u200d🚀 flies", "👩\u200d🚀 flies"),
        ("x" * 500, "x" * (AUTOMATIC_LENGTH - 1) + "…"),
        ("word " * 100, "word " * 15 + "word…"),
        ("a\0b\ud800", "ab"),
        (" \n\x00\u202e\n\u200d\u200b \u200c\n", None),
        ("", None),
    ],
)
def test_h1_automatic_title_is_the_first_line_with_text(message: str, title: str | None) -> None:
    assert automatic_title(message) == title
    assert title is None or (len(title) <= AUTOMATIC_LENGTH and clean_title(title) == title)


async def title_of(served: Served, session_id: str) -> str | None:
    return (await served.get(f"/api/sessions/{session_id}")).json()["title"]


async def rename(served: Served, session_id: str, title: Any, **headers: str) -> Any:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await served.client.patch(f"/api/sessions/{session_id}", json={"title": title}, headers=given)


async def test_h1_first_message_gives_the_title_and_a_person_changes_it(served: Served) -> None:
    await served.session("one")
    assert await title_of(served, "one") is None
    for text in (" \n ", "Plan a trip\nto Rome", "Another thing"):
        await served.post("/api/chat", {"session_id": "one", "message": text})
    assert await title_of(served, "one") == "Plan a trip"
    for _ in range(2):
        renamed = await rename(served, "one", " My\n\u202eholidays\x00 ")
        assert (renamed.status_code, renamed.json()["title"]) == (200, "My holidays")
    await served.post("/api/sessions/one/logout", {"grace": 1})
    assert await title_of(served, "one") == "My holidays"
    assert (await served.post("/api/sessions/one/restore")).json()["title"] == "My holidays"
    assert (await rename(served, "one", None)).json()["title"] == "Plan a trip"
    assert (await served.get("/api/sessions")).json()["sessions"][0]["title"] == "Plan a trip"


async def test_h1_message_without_a_model_gives_the_title_too(plain: Served) -> None:
    await plain.session("one")
    event = {"kind": "user_input", "text": "Hello"}
    assert (await plain.post("/api/system/event", {"session_id": "one", "event": event})).status_code == 202
    assert await title_of(plain, "one") == "Hello"


@pytest.mark.parametrize("title", ["", " ", "\x00\u202e", "x" * 201, 5, ["a"], {}])
async def test_h1_title_that_is_no_title_is_refused(plain: Served, title: Any) -> None:
    await plain.session("one")
    assert (await rename(plain, "one", title)).status_code == 422
    assert (await plain.client.patch("/api/sessions/one", json={})).status_code == 422, "null must be said"
    assert (await plain.client.patch("/api/sessions/one", json={"title": "x", "open": False})).status_code == 422
    assert await title_of(plain, "one") is None


async def test_h5_session_of_another_user_is_not_renamed(served: Served) -> None:
    await served.session("hers", x_user="ann")
    refused = await rename(served, "hers", "mine", x_user="bob")
    missing = await rename(served, "nowhere", "mine", x_user="bob")
    assert (refused.status_code, refused.json()) == (404, missing.json())
    assert (await served.get("/api/sessions/hers", x_user="ann")).json()["title"] is None


async def test_h1_title_is_written_with_the_first_message_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(Runtime(TOOLS, model="offline", store=f"sqlite:///{tmp_path / 'b.db'}")) as served:
        await served.session("one")
        store, written = served.runtime.store, list[Change]()
        commit = store.commit

        async def record(changes: Any) -> Any:
            written.extend(changes)
            return await commit(changes)

        monkeypatch.setattr(store, "commit", record)
        for number in range(3):
            await served.post("/api/chat", {"session_id": "one", "message": f"Message {number}"})
        titles = [change.title for change in written if change.inputs]
        assert [title and title.text for title in titles] == ["Message 0", None, None]


async def test_h1_other_process_sees_the_title(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'b.db'}"
    async with (
        asyncio.timeout(DEADLINE),
        serve(Runtime(TOOLS, model="offline", store=url)) as here,
        serve(Runtime(TOOLS, model="offline", store=url)) as there,
    ):
        await here.session("one")
        assert await title_of(there, "one") is None
        await here.post("/api/chat", {"session_id": "one", "message": "First"})
        while await title_of(there, "one") != "First":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await there.post("/api/chat", {"session_id": "one", "message": "Second"})
        await rename(there, "one", "Renamed")
        while await title_of(here, "one") != "Renamed":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert (await rename(here, "one", None)).json()["title"] == "First"
