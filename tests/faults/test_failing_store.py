"""A store that fails in unexpected ways or until the end: no caller waits forever (B6)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pytest

from callboard import Runtime, RuntimeNotOpen, tool
from callboard.storage.change import Change
from callboard.storage.errors import Conflict, StoreError, StoreUnavailable
from callboard.storage.writer import Writer

pytestmark = pytest.mark.anyio

SOON = 90.0


@tool
async def echo(text: Annotated[str, "Any"]) -> str:
    """Return the text."""
    return text


async def test_b6_waiting_caller_gets_the_error_of_the_store_and_the_next_change_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime([echo], store=f"sqlite:///{tmp_path / 'callboard.db'}") as runtime:
        session = await runtime.open("s", "ann")
        commit = runtime.store.commit

        async def fail(changes: Sequence[Change]) -> list[int | Conflict]:
            monkeypatch.setattr(runtime.store, "commit", commit)
            raise RuntimeError("a bug")

        monkeypatch.setattr(runtime.store, "commit", fail)
        with pytest.raises(StoreError, match="RuntimeError"):
            async with asyncio.timeout(SOON):
                await session.post({"kind": "user_input", "text": "first"})
        assert await session.post({"kind": "user_input", "text": "second"}) == 1


async def test_b6_session_that_could_not_be_created_is_created_by_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime([echo], store=f"sqlite:///{tmp_path / 'callboard.db'}") as runtime:

        async def fail(changes: Sequence[Change]) -> list[int | Conflict]:
            raise StoreError("It is damaged.")

        with monkeypatch.context() as broken:
            broken.setattr(runtime.store, "commit", fail)
            with pytest.raises(StoreError, match="damaged"):
                await runtime.open("s", "ann")
        session = await runtime.open("s", "ann")
        assert (await session.call("echo", {"text": "yes"})).value == "yes"


async def test_b6_caller_that_waits_for_a_lost_store_gets_an_error_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime([echo], store=f"sqlite:///{tmp_path / 'callboard.db'}")
    monkeypatch.setattr("callboard.storage.writer.FIRST_DELAY", 0.01)

    async def unavailable(changes: Sequence[Change]) -> list[int | Conflict]:
        raise StoreUnavailable("The disk is away.")

    async with asyncio.timeout(SOON):
        async with runtime:
            session = await runtime.open("s", "ann")
            monkeypatch.setattr(runtime.store, "commit", unavailable)
            close = Writer.close
            monkeypatch.setattr(Writer, "close", lambda writer: close(writer, patience=0.1))
            waiting = [
                asyncio.ensure_future(session.call("echo", {"text": "?"})),
                asyncio.ensure_future(session.post({"kind": "user_input", "text": "?"})),
            ]
            await asyncio.sleep(0)
        for each in waiting:
            with pytest.raises(StoreUnavailable):
                await each
        with pytest.raises(RuntimeNotOpen):  # a later caller finds that the runtime has ended
            await session.post({"kind": "user_input", "text": "too late"})
