"""A tool in detail, and statistics over time (H1, H5, G3)."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from callboard import BreakerPolicy, RetryPolicy, Runtime, ToolError, tool
from callboard.pacer import Pacer
from callboard.schemas.dialects import DIALECTS
from callboard.testing import ManualClock
from callboard.tools.minute_series import BOUNDS, MINUTE, MINUTES, MinuteSeries, merge_minutes
from callboard.tools.stats import ToolStats
from tests.server.conftest import TOOLS, Served, serve, until

pytestmark = pytest.mark.anyio


@tool(breaker=BreakerPolicy(failure_threshold=2, recovery_time=30, scope="user"))
async def fail_for_user(kind: Annotated[str, "The category"]) -> str:
    """Fail."""
    raise ToolError("No.", category=kind, retryable=False)


@tool(breaker=BreakerPolicy(failure_threshold=1, recovery_time=30, scope="target", target=lambda given: given["host"]))
async def fail_for_host(host: Annotated[str, "The host"]) -> str:
    """Fail."""
    raise ToolError("No.", category="execution", retryable=False)


@tool(breaker=BreakerPolicy(failure_threshold=1, recovery_time=30, hide_when_open=True))
async def hidden(kind: Annotated[str, "The category"]) -> str:
    """Fail, and disappear."""
    raise ToolError("No.", category=kind, retryable=False)


@tool(gate="beta")
async def gated() -> str:
    """Do nothing yet."""
    return ""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def timed(clock: ManualClock) -> AsyncGenerator[Served]:
    tools = [*TOOLS, fail_for_user, fail_for_host, hidden, gated]
    async with serve(Runtime(tools, clock=clock, store="memory://")) as served:
        yield served


async def run(served: Served, session_id: str, name: str, arguments: Any, **headers: str) -> None:
    body = {"session_id": session_id, "tool": name, "arguments": arguments}
    assert (await served.post("/api/executions", body, **headers)).status_code == 200


async def details(served: Served, name: str, headers: dict[str, str] | None = None, **params: Any) -> Any:
    answer = await served.get(f"/api/tools/{name}", params, **headers or {})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_h1_tool_has_its_entry_its_schemas_and_its_statistics(timed: Served) -> None:
    await timed.session("s")
    await run(timed, "s", "add", {"a": 1, "b": 2})
    found = await details(timed, "add")
    listed = (await timed.get("/api/tools")).json()["tools"]
    schemas = found["tool"].pop("schemas")
    assert found["tool"] in listed
    assert schemas.keys() == DIALECTS.keys()
    assert schemas["claude"]["name"] == "add"
    assert found["breakers"] == []
    assert (found["statistics"]["calls"], found["statistics"]["success_rate"]) == (1, 1.0)


async def test_s1_dialect_that_refuses_a_tool_says_why(timed: Served) -> None:
    @tool
    async def label(names: Annotated[dict[str, int], "Numbers by name"]) -> str:
        """Label."""
        return ""

    timed.runtime.registry.register(label)
    schemas = (await details(timed, "label"))["tool"]["schemas"]
    assert schemas["openai-strict"].keys() == {"error", "path"}
    assert schemas["claude"]["input_schema"]


async def test_h1_tool_has_the_policies_that_its_calls_follow(timed: Served) -> None:
    @tool(timeout=5, total_timeout=20, concurrency=2, retry=RetryPolicy(max_attempts=4, retry_on=["timeout"]))
    async def own() -> str:
        """Do it."""
        return ""

    timed.runtime.registry.register(own)
    found = (await details(timed, "own"))["policies"]
    assert (found["timeout"], found["total_timeout"], found["concurrency"]) == (5, 20, 2)
    assert (found["retry"]["max_attempts"], found["retry"]["retry_on"]) == (4, ["timeout"])
    assert (found["breaker"]["scope"], found["breaker"]["failure_threshold"]) == ("tool", 5)
    defaults = (await details(timed, "fail_for_user"))["policies"]
    assert (defaults["timeout"], defaults["expires"], defaults["retry"]["max_attempts"]) == (None, None, 3)
    assert (defaults["breaker"]["scope"], defaults["breaker"]["recovery_time"]) == ("user", 30)


async def test_h5_breakers_of_other_users_and_of_shared_targets_are_not_shown(timed: Served) -> None:
    for user in ("ann", "bob"):
        await timed.session(f"of {user}", x_user=user)
    for _ in range(2):
        await run(timed, "of ann", "fail_for_user", {"kind": "execution"}, x_user="ann")
    (breaker,) = (await details(timed, "fail_for_user", {"x_user": "ann"}))["breakers"]
    assert breaker == {"scope": "user", "target": None, "state": "open", "refused_for": 30.0}
    assert (await details(timed, "fail_for_user", {"x_user": "bob"}))["breakers"] == []
    await run(timed, "of ann", "fail_for_host", {"host": "secret.example"}, x_user="ann")
    for user in ("ann", "bob"):
        assert "secret.example" not in str(await details(timed, "fail_for_host", {"x_user": user}))
    theirs = await timed.get("/api/tools/add", {"session_id": "of ann"}, x_user="bob")
    assert (theirs.status_code, theirs.json()["code"]) == (404, "session_not_found")


async def test_h1_tool_is_shown_while_its_breaker_hides_it(timed: Served) -> None:
    await timed.session("s")
    await run(timed, "s", "hidden", {"kind": "execution"})
    assert "hidden" not in [each["name"] for each in (await timed.get("/api/tools")).json()["tools"]]
    found = await details(timed, "hidden", session_id="s")
    assert [(each["scope"], each["state"]) for each in found["breakers"]] == [("tool", "open")]
    assert found["statistics"]["breaker"] == "open"


@pytest.mark.parametrize(
    "name", ["nothing", "gated", "a%2Fb", "%00", "..%2F..%2Fetc", "%F0%9F%98%80", "x" * 3_000, "%ff"]
)
async def test_h1_unknown_and_odd_names_are_not_found(timed: Served, name: str) -> None:
    assert (await timed.client.get(f"/api/tools/{name}")).status_code == 404
    answer = await timed.get(f"/api/statistics?tool={name}")
    assert answer.status_code in (404, 422)


async def test_h1_statistics_are_counted_by_minute(timed: Served, clock: ManualClock) -> None:
    await timed.session("s")
    await clock.advance(MINUTE - clock.monotonic() % MINUTE)
    began = clock.time()
    for number in range(3):
        await run(timed, "s", "add", {"a": number, "b": 2})
    await run(timed, "s", "add", {"a": "no number", "b": 2})
    await clock.advance(3 * MINUTE)
    await run(timed, "s", "add", {"a": 1, "b": 2})
    await run(timed, "s", "shout", {"text": "a"})
    found = (await timed.get("/api/statistics", {"tool": "add"})).json()
    first, second = found["minutes"]
    assert (found["tool"], first["calls"], first["failures"], second["calls"]) == ("add", 4, {"validation": 1}, 1)
    assert first["start"] == _text(began)
    assert second["start"] == _text(began + 3 * MINUTE)
    assert 0 < first["p50"] <= first["p95"] <= first["p99"]
    together = (await timed.get("/api/statistics")).json()
    assert (together["tool"], [each["calls"] for each in together["minutes"]]) == (None, [4, 2])
    await clock.advance((MINUTES - 1) * MINUTE)
    assert [each["calls"] for each in (await timed.get("/api/statistics")).json()["minutes"]] == [2]
    await clock.advance(MINUTE)
    assert (await timed.get("/api/statistics")).json()["minutes"] == []


def _text(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def test_g3_series_keeps_an_hour_whatever_is_counted() -> None:
    series = MinuteSeries()
    for minute in range(1_000):
        series.turn(minute * MINUTE + 1)
        series.add_all([0.001 * number for number in range(1_000)])
    records = series.read(1_000 * MINUTE - 1)
    assert [record.start for record in records] == [minute * MINUTE for minute in range(940, 1_000)]
    assert all(len(record.durations) <= len(BOUNDS) + 1 for record in records)


def test_g3_percentiles_are_exact_to_the_classes() -> None:
    stats = ToolStats()
    for number in range(1, 5_001):
        stats.ended_at(120.0, number / 1_000)
    (record,) = stats.minutes(125.0)
    assert record.calls == 5_000
    for share in (0.5, 0.95, 0.99):
        exact, found = share * 5, record.percentile(share)
        assert found is not None
        assert exact <= found <= 1.5 * exact
    stats.ended_at(121.0, 10_000.0)
    (record,) = stats.minutes(125.0)
    assert record.percentile(1.0) == BOUNDS[-1], "longer than any class"
    assert MinuteSeries().read(5.0) == []
    merged = merge_minutes([[record], [record]])
    assert [each.calls for each in merged] == [2 * record.calls]


@pytest.mark.parametrize("path", ["/api/tools", "/api/manifest", "/metrics"])
async def test_h5_responses_about_all_tools_are_written_in_turns(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = asyncio.Event()
    entered: list[tuple[str, float]] = []

    async def enter(_: Pacer, user_id: str, seconds: float) -> None:
        entered.append((user_id, seconds))
        await turn.wait()

    monkeypatch.setattr(Pacer, "enter", enter)
    async with serve(Runtime(TOOLS), metrics=lambda: b"") as served:
        response = asyncio.create_task(served.get(path, x_user="ann"))
        await until(lambda: bool(entered))
        assert (await served.get("/healthz")).status_code == 200
        assert not response.done()
        turn.set()
        assert (await response).status_code == 200
    assert entered[0][0] == "ann"
    assert 0 < entered[0][1] < 0.1
