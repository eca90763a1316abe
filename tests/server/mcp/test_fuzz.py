"""Any bytes, JSON and JSON-RPC frames at `/mcp`: each is answered in time without a server error; memory stays flat."""

import asyncio
import gc
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import Runtime
from tests.examples import examples
from tests.server.conftest import DEADLINE, Served, serve
from tests.server.mcp.stage import Gates, tools
from tests.server.mcp.test_frames import KEYS, META, METHODS, VALUES
from tests.server.mcp.test_http import ACCEPT, initialize, list_tools

pytestmark = pytest.mark.anyio

KEPT: Any = {"keep_events": 200, "keep_executions": 50}
TEXT = st.text(max_size=50)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from(VALUES),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT | st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
PARAMS = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4)
FRAME = st.fixed_dictionaries(
    {"jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0", 2])},
    optional={
        "id": st.integers() | TEXT | JSON,
        "method": st.sampled_from(METHODS) | TEXT,
        "params": PARAMS | PARAMS.map(lambda params: {**params, "_meta": META}) | JSON,
        "result": JSON,
        "error": JSON,
    },
)
BODY = st.one_of(
    st.binary(max_size=200),
    JSON.map(lambda value: json.dumps(value).encode()),
    FRAME.map(lambda frame: json.dumps(frame).encode()),
    FRAME.map(lambda frame: json.dumps(frame).encode()),
    st.lists(FRAME, max_size=3).map(lambda batch: json.dumps(batch).encode()),
)
WORD = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "accept": st.sampled_from(["*/*", "application/json", "text/event-stream", "text/html"]),
        "content-type": st.sampled_from(["text/plain", "application/json; charset=latin-1"]),
        "mcp-protocol-version": st.sampled_from(["2024-11-05", "2025-11-25", "2026-07-28", "2099-01-01"]) | WORD,
        "mcp-session-id": WORD,
        "mcp-method": st.sampled_from([each for each in METHODS if each and len(each) < 100]) | WORD,
        "mcp-name": st.sampled_from(["add", "pay", "a@b", "=?base64?x?="]) | WORD,
        "last-event-id": WORD,
    },
)
REQUEST = st.tuples(BODY, HEADERS, st.booleans())


async def send(served: Served, connection: str, body: bytes, headers: dict[str, str], is_connected: bool) -> None:
    """Send a request, which must get a response that is no server error."""
    given = {**ACCEPT, "content-type": "application/json", "x-user": "ann", **headers}
    if is_connected:
        given["mcp-session-id"] = connection
    async with asyncio.timeout(DEADLINE):
        response = await served.client.post("/mcp", content=body, headers=given)
    assert response.status_code < 500, (body, headers, response.text)
    assert "Traceback" not in response.text
    assert "Internal server error" not in response.text, (body, headers, response.text)


@examples(15, 300)
@given(requests=st.lists(REQUEST, min_size=1, max_size=12))
async def test_h4_h6_no_request_is_a_server_error(requests: list[tuple[bytes, dict[str, str], bool]]) -> None:
    async with serve(Runtime(tools(Gates()), **KEPT)) as served:
        connection = await initialize(served, "ann")
        for body, headers, is_connected in requests:
            await send(served, connection, body, headers, is_connected)
        if (await list_tools(served, "ann", connection)).status_code != 200:  # a request may have ended it
            connection = await initialize(served, "ann")
            assert (await list_tools(served, "ann", connection)).status_code == 200


@pytest.mark.slow
async def test_h4_h6_memory_stays_flat_under_any_frames() -> None:
    frames: list[tuple[bytes, dict[str, str], bool]] = []

    @examples(1_000, 1_000)
    @given(request=REQUEST)
    def collect(request: tuple[bytes, dict[str, str], bool]) -> None:
        frames.append(request)

    collect()
    async with serve(Runtime(tools(Gates()), **KEPT)) as served:
        connection = await initialize(served, "ann")

        async def count_objects() -> int:
            for body, headers, is_connected in frames:
                await send(served, connection, body, headers, is_connected)
            gc.collect()
            return len(gc.get_objects())

        await count_objects()  # fills caches
        before = await count_objects()
        await count_objects()
        after = await count_objects()
        assert after < before * 1.02, (before, after)
