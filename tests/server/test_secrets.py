"""Secret arguments are masked wherever people and programs read a conversation (H1, X4)."""

from typing import Annotated

import pytest
from pydantic import SecretStr

from callboard import BreakerPolicy, Runtime, tool
from tests.chat.scripted import Script
from tests.server.conftest import serve, until

pytestmark = pytest.mark.anyio

OF = {"session_id": "s"}


@tool(breaker=BreakerPolicy(failure_threshold=1, hide_when_open=True))
async def log_in(name: Annotated[str, "The name"], password: Annotated[SecretStr, "The password"]) -> str:
    """Log in."""
    raise ConnectionError("The service is away.")


@pytest.mark.parametrize(
    "arguments",
    ['{"name": "ann", "password": "hunter2"}', '{"name": "ann", "password": "hunter2"', '["hunter2"]'],
    ids=["valid", "cut off", "a list"],
)
async def test_h1_secrets_are_masked_in_messages(arguments: str, store_url: str) -> None:
    script = Script([("log_in", arguments)], ["I am in."])
    async with serve(Runtime([log_in], model=script.model(), store=store_url)) as served:
        await served.session("s")
        session = await served.runtime.open("s", user_id="local")
        await served.post("/api/chat", {**OF, "message": "log in"})
        await until(lambda: len(script.requests) == 2 and not session.is_processing)
        if arguments.endswith("}"):
            assert session.tools().get("log_in") is None, "its breaker hides it now"
        pages = [await served.get(path, OF) for path in ("/api/state", "/api/messages", "/api/executions")]
        assert [page.status_code for page in pages] == [200] * 3
        texts = [*(page.text for page in pages), str(await session.messages())]
        assert ["hunter2" in text for text in texts] == [False] * 4
        if arguments.endswith("}"):
            [call] = [call for each in await session.messages() for call in each.get("calls", ())]
            assert call["arguments"]["name"] == "ann"
        assert "hunter2" in str(script.requests[1]), "the model reads what it wrote"
