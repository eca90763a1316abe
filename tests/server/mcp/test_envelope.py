"""The connection of a request without a handshake is the one that the SDK makes, though descriptions are kept."""

import math
from typing import Any

import pytest
from mcp.server.connection import Connection
from mcp.shared.inbound import InboundModernRoute

from callboard.protocols.mcp.envelope import LONGEST, connection_of

pytestmark = pytest.mark.anyio

INFO = {"name": "test", "version": "1", "title": "Test"}
CAPABILITIES: dict[str, Any] = {"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}


def route(info: Any = INFO, capabilities: Any = CAPABILITIES) -> InboundModernRoute:
    return InboundModernRoute("2026-07-28", info, capabilities)


def facts(connection: Connection) -> tuple[Any, ...]:
    return (
        connection.protocol_version,
        connection.client_params,
        connection.client_capabilities,
        connection.session_id,
        connection.initialized.is_set(),
        connection.has_standalone_channel,
    )


@pytest.mark.parametrize("info", [INFO, None, {}, "test", {"name": 1}, {"name": "test"}, [INFO]])
@pytest.mark.parametrize(
    "capabilities", [CAPABILITIES, {}, None, [], {"elicitation": 1}, {"experimental": {"x": {"y": math.inf}}}]
)
async def test_h4_connection_of_a_request_is_the_one_that_the_sdk_makes(info: Any, capabilities: Any) -> None:
    expected = facts(Connection.from_envelope("2026-07-28", info, capabilities))
    for _ in range(2):  # the second time from the kept description
        assert facts(connection_of(route(info, capabilities))) == expected


async def test_h4_requests_of_one_client_share_nothing_but_its_description() -> None:
    first, second = connection_of(route()), connection_of(route())
    assert first.client_params is second.client_params
    first.state["seen"] = True
    assert second.state == {}
    assert first.exit_stack is not second.exit_stack


async def test_h4_clients_with_other_words_are_other_clients() -> None:
    assert connection_of(route({**INFO, "name": "other"})).client_params != connection_of(route()).client_params
    assert connection_of(route(capabilities={})).client_capabilities != connection_of(route()).client_capabilities


async def test_h4_long_descriptions_are_not_kept() -> None:
    long = route({**INFO, "title": "x" * LONGEST})
    first, second = connection_of(long).client_params, connection_of(long).client_params
    assert first == second
    assert first is not None
    assert first.client_info.title == "x" * LONGEST
    assert first is not second
