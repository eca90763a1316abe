"""New messages of a client, and the ids of messages: they are identified by ids, not by text or position (H3)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callboard.sessions.session import live_session
from tests.server.agui.stage import Page, Site, site

pytestmark = pytest.mark.anyio

ADD = 'add {"a": 1, "b": 2}'


def user(identity: str, text: str) -> dict[str, Any]:
    return {"id": identity, "role": "user", "content": text}


def assistant(identity: str, text: str) -> dict[str, Any]:
    return {"id": identity, "role": "assistant", "content": text}


async def heard(s: Site, thread: str = "t") -> list[str]:
    return [each["text"] for each in await (await s.session(thread)).messages() if each["role"] == "user"]


# New messages


@pytest.mark.parametrize("kept", [0, 1, 2])
async def test_h3_same_text_with_a_new_id_is_a_new_message(kept: int) -> None:
    async with site() as s:
        page = Page(s)
        for text in ("yes", "no", "yes", "yes"):
            page.messages = page.messages[len(page.messages) - kept :]  # the page has dropped older messages
            end = await page.run(text)
            assert end["outcome"] == {"type": "success"}
        assert await heard(s) == ["yes", "no", "yes", "yes"]


@pytest.mark.parametrize("identity", ["agui-1", "agui-0123456789ab-1", "cb-1", "e1", "m0.0", "i1", "r1", "activity-1"])
async def test_h3_a_client_may_choose_any_id(identity: str) -> None:
    async with site() as s:
        page = Page(s)
        await page.run(user("u0", ADD))
        end = await page.run(user(identity, "hello"))
        assert end["outcome"] == {"type": "success"}
        assert await heard(s) == [ADD, "hello"]
        assert [each["role"] for each in page.messages[-2:]] == ["user", "assistant"]


async def test_h3_user_message_may_have_the_id_of_another_message() -> None:
    async with site() as s:
        page = Page(s)
        await page.run(user("u0", ADD))
        [*_, last] = page.messages
        async with asyncio.timeout(90):
            events = await s.run(user(last["id"], "hello"))
        assert events[-1]["outcome"] == {"type": "success"}
        assert await heard(s) == [ADD, "hello"]


async def test_h3_repeated_id_with_the_same_text_is_one_message() -> None:
    async with site() as s:
        async with asyncio.timeout(90):
            events = await s.run(user("u", ADD), user("u", ADD))
        assert events[-1]["outcome"] == {"type": "success"}
        assert await heard(s) == [ADD]


async def test_h3_repeated_id_with_another_text_is_refused_and_nothing_is_accepted() -> None:
    async with site() as s:
        async with asyncio.timeout(90):
            events = await s.run(user("u", ADD), user("u", "hello"))
        assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "run_refused")
        assert "'u'" in events[-1]["message"]
        assert await heard(s) == []


@pytest.mark.parametrize("window", [1, 200])
async def test_h3_accepted_id_with_another_text_is_refused(tmp_path: Path, window: int) -> None:
    store = f"sqlite:///{tmp_path / 'callboard.db'}"
    wanted = {"forwardedProps": {"callboard": {"messages": window}}}
    async with site(store) as s:
        await s.run(user("u", ADD))
        await s.run(user("v", "hello"))
    async with site(store) as s:
        async with asyncio.timeout(90):
            events = await s.run(user("u", "hello"), **wanted)
        assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "run_refused")
        assert "another text" in events[-1]["message"]
        events = await s.run(user("u", ADD), **wanted)
        assert events[-1]["outcome"] == {"type": "success"}
        assert await heard(s) == [ADD, "hello"]


async def test_h3_message_that_was_added_during_a_run_is_accepted_by_the_next() -> None:
    async with site() as s:
        page = Page(s)
        await page.run(user("u0", ADD))
        page.messages.insert(1, user("u1", "hello"))  # before the model's newest message
        end = await page.run()
        assert end["outcome"] == {"type": "success"}
        assert await heard(s) == [ADD, "hello"]
        assert [each["id"] for each in page.messages if each["role"] == "user"] == ["u0", "u1"]
        assert page.messages[-2]["id"] == "u1", "the page has the order of the transcript"


async def test_h3_messages_of_another_conversation_are_ignored() -> None:
    async with site() as s:
        page = Page(s)
        page.messages = [user("x0", 'pay {"amount": 5}'), assistant("x1", "Paid.")]
        end = await page.run(user("u0", "hello"))
        assert end["outcome"] == {"type": "success"}
        assert await heard(s) == ["hello"]
        assert page.messages[0]["id"] == "u0", "the page has the messages of the thread"


async def test_h3_run_whose_only_message_is_ignored_fails() -> None:
    async with site() as s:
        page = Page(s)
        end = await page.run(user("u0", "hello"), assistant("x1", "A placeholder of the page."))
        assert (end["type"], end["code"]) == ("RUN_ERROR", "message_not_taken")
        assert await heard(s) == []
        end = await page.run(user("u0", "hello"))  # which is now after it
        assert end["outcome"] == {"type": "success"}
        assert await heard(s) == ["hello"]


async def test_h3_an_empty_placeholder_of_the_page_is_no_message() -> None:
    async with site() as s:
        end = await Page(s).run(user("u0", "hello"), assistant("x1", ""))
        assert end["outcome"] == {"type": "success"}
        assert await heard(s) == ["hello"]


@pytest.mark.parametrize("identity", ["", "x" * 201, "a\nb"])
async def test_h3_invalid_message_id_is_refused(identity: str) -> None:
    async with site() as s:
        events = await s.run(user(identity, "hello"))
        assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "run_refused")
        assert await heard(s) == []


# Limits


async def test_h3_many_messages_are_stored_in_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with site(f"sqlite:///{tmp_path / 'callboard.db'}") as s:
        session = await s.session()
        writes: list[int] = []
        write = live_session(session).ledger.write

        def counted(_: Any, change: Any, **options: Any) -> Any:
            if any(b'"user_input"' in event for event in change.events):
                writes.append(len(change.events))
            return write(change, **options)

        monkeypatch.setattr(type(live_session(session).ledger), "write", counted)
        end = await Page(s).run(*[user(f"u{n}", f"message {n}") for n in range(50)])
        assert end["outcome"] == {"type": "success"}
        assert writes == [50]
        assert await heard(s) == [f"message {n}" for n in range(50)]


async def test_h3_too_many_messages_are_refused_and_none_is_accepted(tmp_path: Path) -> None:
    async with site(f"sqlite:///{tmp_path / 'callboard.db'}") as s:
        async with asyncio.timeout(90):
            events = await s.run(*[user(f"u{n}", f"message {n}") for n in range(2_000)])
        assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "run_refused")
        assert "at most 50" in events[-1]["message"]
        assert await heard(s) == []


# Ids that pages see


async def test_h3_ids_are_the_same_for_every_page_and_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'callboard.db'}"
    async with site(store) as s:
        page, other = Page(s), Page(s)
        await page.run(user("mine", ADD))
        await (await s.session()).say("hello")
        await page.run()
        await page.run('build {"what": "a"}')
        s.gates["a begins"].set()
        s.gates["a"].set()
        async with asyncio.timeout(90):
            async for event in (await s.session()).events(0):
                if event.kind == "turn_finished" and "built a" in str(await (await s.session()).messages()):
                    break
        await page.run()
        await other.run()
        assert page.messages[0]["id"] == "mine"
        ids = [each["id"] for each in page.messages]
        assert [each["id"] for each in other.messages] == ids
        assert len(set(ids)) == len(ids)
    async with site(store) as s:
        reloaded = Page(s)
        await reloaded.run()
        assert [each["id"] for each in reloaded.messages] == ids


async def test_h3_streamed_messages_have_the_ids_of_the_snapshot() -> None:
    async with site() as s:
        s.gates["speak"].set()
        page, other = Page(s), Page(s)
        await page.run("speak")
        await page.run(f"{ADD} and {ADD}")
        await other.run()
        assert [each["id"] for each in other.messages] == [each["id"] for each in page.messages]
        await page.run()
        assert page.kinds == ["RUN_STARTED", "RUN_FINISHED"], "nothing is missing"
