"""The OpenAPI document is true: the server accepts what it allows, and responds as it says, whatever is sent."""

import asyncio
import threading
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any, cast

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from callboard import Runtime
from callboard.server.app import ENDPOINTS
from callboard.server.openapi import openapi
from tests.server.conftest import TOOLS, WORKERS, Served, serve

DOCUMENT = openapi(ENDPOINTS)
OPERATIONS = [
    cast("Any", operation).ok()
    for operation in schemathesis.openapi.from_dict(DOCUMENT).exclude(path="/api/chat/stream").get_all_operations()
]
"""All operations except the stream, which does not end."""
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Start a server in a thread, with the session `there`."""
    found: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    store = f"sqlite:///{tmp_path_factory.mktemp('fuzz') / 'board.db'}"

    async def run() -> None:
        over = asyncio.Event()
        async with serve(Runtime(TOOLS, workers=WORKERS, model="offline", store=store)) as served:
            await served.session("there")
            found.set_result((served.url, asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    url, loop, over = found.result(30)
    yield url
    loop.call_soon_threadsafe(over.set)
    thread.join(30)


def real(part: Any) -> Any:
    """Replace the session of a request by the existing session."""
    return {**part, "session_id": "there"} if isinstance(part, dict) and "session_id" in part else part


def _fuzz(operation: Any, url: str, examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=operation.as_strategy(), there=st.booleans())
    def attack(case: Any, there: bool) -> None:
        if there:
            case.query, case.body = real(case.query), real(case.body)
            if isinstance(case.body, dict) and case.body.get("grace"):
                case.body["grace"] = 0
        case.validate_response(case.call(base_url=url, timeout=90), checks=CHECKS)

    attack()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_h1_server_handles_every_request_that_the_document_allows(operation: Any, address: str) -> None:
    _fuzz(operation, address, 60)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_h1_server_handles_many_random_requests(operation: Any, address: str) -> None:
    _fuzz(operation, address, 500)


@pytest.mark.anyio
async def test_h1_the_document_is_served_and_names_every_route(plain: Served) -> None:
    document = (await plain.get("/openapi.json")).json()
    assert document == DOCUMENT
    assert document["openapi"].startswith("3.1")
    assert {"/api/chat", "/api/chat/stream", "/api/state", "/api/system/event", "/healthz"} <= set(document["paths"])
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    ids = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert len(ids) == len(set(ids))
