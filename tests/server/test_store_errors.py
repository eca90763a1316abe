"""Errors of the store name its address in the log, and never in a response (H6)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from callboard import Runtime
from callboard.adapters.stores import open_store
from callboard.storage.errors import StoreError, Unstorable
from tests.server.conftest import TOOLS, Served, serve

pytestmark = pytest.mark.anyio

RUN = {"threadId": "new", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}, "forwardedProps": {}}


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sqlite:////no/such/folder/board.db", "/no/such/folder"),
        ("postgresql://ann:s3cret@127.0.0.1:1/board", "127.0.0.1:1"),
    ],
)
async def test_h6_address_of_the_store_is_not_disclosed(
    plain: Served, monkeypatch: pytest.MonkeyPatch, url: str, place: str
) -> None:
    with pytest.raises(StoreError, match=place) as caught:
        await open_store(url).open(lambda *_: None)

    async def fail(*args: Any, **options: Any) -> Any:
        raise caught.value

    for method in ("session", "sessions"):
        monkeypatch.setattr(plain.runtime.store, method, fail)
    answers = [
        await plain.get("/api/sessions"),
        await plain.get("/readyz"),
        await plain.get("/api/state", {"session_id": "new"}),
        await plain.post("/api/sessions", {"session_id": "new"}),
        await plain.post("/ag-ui", RUN),
    ]
    assert {answer.status_code for answer in answers} == {503}
    assert not [answer.text for answer in answers if place in answer.text or "board" in answer.json()["detail"]]


async def test_h6_turn_that_failed_in_the_store_does_not_disclose_its_address(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        raise StoreError("The PostgreSQL database x at db.internal:5432 does not answer.")
        yield ""

    async with serve(Runtime(TOOLS, model=FunctionModel(stream_function=fail))) as served:
        await served.session("s")
        session = await served.runtime.open("s", user_id="local")
        turn = await session.say("hello")
        assert (turn.status, turn.error) == ("failed", "The store cannot be used at the moment. Try again.")
        for path in ("/api/state", "/api/requests", "/api/executions"):
            assert "internal" not in (await served.get(path, {"session_id": "s"})).text
        assert not [event for event in session.board.read(0) if b"internal" in event.encoded]
    assert "db.internal:5432" in caplog.text


async def test_h6_data_that_the_store_refuses_is_not_called_a_missing_session(
    plain: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*args: Any, **options: Any) -> Any:
        raise Unstorable("The database does not take this change of session s (DataError).")

    monkeypatch.setattr(plain.runtime.store, "sessions", refuse)
    answer = await plain.get("/api/sessions")
    assert (answer.status_code, answer.json()["code"]) == (422, "unstorable")
    assert "DataError" not in answer.text
