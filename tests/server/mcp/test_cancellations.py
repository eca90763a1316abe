"""Cancelled requests are remembered while the handling of a request changes hands."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp import types

from callboard.protocols.mcp.cancellations import Cancellations

pytestmark = pytest.mark.anyio

CONTEXT = cast("Any", SimpleNamespace(request=None, request_id=5, protocol_version="2025-11-25"))


async def test_h4_x8_cancellation_between_two_handlers_of_a_request_is_known_to_the_second() -> None:
    cancellations, notified = Cancellations(), list[str]()
    first = cancellations.watch(CONTEXT, lambda: notified.append("first"))
    await cancellations(CONTEXT, types.CancelledNotificationParams(request_id=6))
    assert (first.is_cancelled, notified) == (False, [])
    await cancellations(CONTEXT, types.CancelledNotificationParams(request_id="5"))
    second = cancellations.watch(CONTEXT, lambda: notified.append("second"))
    assert (second.is_cancelled, notified) == (True, ["first"])
    assert await second.is_by_client()
    cancellations.forget(second)
    assert not cancellations.watch(CONTEXT, lambda: None).is_cancelled
