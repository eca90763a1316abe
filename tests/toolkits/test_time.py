"""The time toolkit."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from callboard import Registry, ToolError
from callboard.toolkits.time import tools

pytestmark = pytest.mark.anyio

registry = Registry(tools)


async def refused(name: str, arguments: dict[str, Any]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await registry.call(name, arguments)
    assert caught.value.category == "validation"
    assert "/" not in caught.value.message.replace("Europe/", "").replace("America/", "").replace("Asia/", "")
    return caught.value


@pytest.mark.parametrize(("arguments", "zone"), [({}, "UTC"), ({"timezone": "Asia/Tokyo"}, "Asia/Tokyo")])
async def test_the_current_time_is_now_in_the_zone(arguments: dict[str, str], zone: str) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    value = await registry.call("get_current_time", arguments)
    current = datetime.fromisoformat(value["time"])
    assert before <= current <= datetime.now(UTC)
    assert value["timezone"] == zone
    assert current.utcoffset() == timedelta(hours=9 if zone == "Asia/Tokyo" else 0)
    assert value["weekday"] == current.strftime("%A")
    assert re.fullmatch(r"[+-]\d\d:\d\d", value["utc_offset"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {"time": "2026-01-15T12:00", "to_timezone": "Europe/Berlin"},
            {
                "time": "2026-01-15T13:00:00+01:00",
                "timezone": "Europe/Berlin",
                "weekday": "Thursday",
                "utc_offset": "+01:00",
            },
        ),
        (
            {"time": "2026-07-15T12:00", "to_timezone": "Europe/Berlin"},
            {
                "time": "2026-07-15T14:00:00+02:00",
                "timezone": "Europe/Berlin",
                "weekday": "Wednesday",
                "utc_offset": "+02:00",
            },
        ),
        (
            {"time": "2026-01-15T23:30", "from_timezone": "America/New_York", "to_timezone": "Asia/Kolkata"},
            {
                "time": "2026-01-16T10:00:00+05:30",
                "timezone": "Asia/Kolkata",
                "weekday": "Friday",
                "utc_offset": "+05:30",
            },
        ),
        (  # an offset in the time has precedence
            {"time": "2026-01-15T12:00-03:30", "from_timezone": "Asia/Tokyo", "to_timezone": "UTC"},
            {"time": "2026-01-15T15:30:00+00:00", "timezone": "UTC", "weekday": "Thursday", "utc_offset": "+00:00"},
        ),
        (
            {"time": "2026-01-15", "to_timezone": "America/St_Johns"},
            {
                "time": "2026-01-14T20:30:00-03:30",
                "timezone": "America/St_Johns",
                "weekday": "Wednesday",
                "utc_offset": "-03:30",
            },
        ),
    ],
)
async def test_times_are_converted(arguments: dict[str, str], expected: dict[str, str]) -> None:
    assert await registry.call("convert_time", arguments) == {**expected, "note": None}


@pytest.mark.parametrize(
    ("time", "zone", "target", "expected", "note"),
    [
        ("2026-03-29T02:30", "Europe/Berlin", "UTC", "2026-03-29T01:30:00+00:00", "skip this time"),
        ("2026-03-29T02:30", "Europe/Berlin", "Europe/Berlin", "2026-03-29T03:30:00+02:00", "skip this time"),
        (
            "2026-10-25T02:30",
            "Europe/Berlin",
            "UTC",
            "2026-10-25T00:30:00+00:00",
            "twice. It was read as the first, ",
        ),
        ("2026-10-25T02:30+01:00", "Europe/Berlin", "UTC", "2026-10-25T01:30:00+00:00", None),
        ("2026-10-25T03:00", "Europe/Berlin", "UTC", "2026-10-25T02:00:00+00:00", None),
    ],
)
async def test_k1_a_local_time_that_a_clock_skips_or_repeats_has_a_note(
    time: str, zone: str, target: str, expected: str, note: str | None
) -> None:
    value = await registry.call("convert_time", {"time": time, "from_timezone": zone, "to_timezone": target})
    assert value["time"] == expected
    assert (note is None) == (value["note"] is None)
    assert note is None or note in value["note"]


async def test_k1_an_offset_has_its_seconds() -> None:
    value = await registry.call("convert_time", {"time": "1880-01-01", "to_timezone": "Europe/Berlin"})
    assert (value["time"], value["utc_offset"]) == ("1880-01-01T00:53:28+00:53:28", "+00:53:28")


@pytest.mark.parametrize("time", ["yesterday", "", "2026-13-01", "25:00"])
async def test_an_invalid_time_is_refused(time: str) -> None:
    error = await refused("convert_time", {"time": time, "to_timezone": "UTC"})
    assert "is not an ISO 8601 time" in error.message


@pytest.mark.parametrize("time", ["0001-01-01T00:00", "9999-12-31T23:59"])
async def test_a_time_outside_the_calendar_is_refused(time: str) -> None:
    zone = "America/New_York" if time < "1" else "Asia/Tokyo"
    error = await refused("convert_time", {"time": time, "to_timezone": zone})
    assert "outside the range of years" in error.message


@pytest.mark.parametrize("name", ["", "Mars/Base", "../../etc/passwd", "/etc/localtime", "Europe", "\x00", "a" * 5000])
async def test_an_invalid_zone_is_refused_and_no_file_is_read(name: str) -> None:
    with pytest.raises(ToolError) as caught:
        await registry.call("get_current_time", {"timezone": name})
    assert caught.value.category == "validation"
    assert re.match(r"There is no (place or )?time zone ", caught.value.message)
    assert len(caught.value.message) < 300


async def test_a_misspelt_zone_is_answered_with_similar_ones() -> None:
    error = await refused("get_current_time", {"timezone": "Europe/Berlln"})
    assert error.message.startswith("There is no time zone 'Europe/Berlln'. Did you mean Europe/Berlin")


async def test_an_unknown_place_is_named() -> None:
    error = await refused("get_current_time", {"timezone": "Narnia"})
    assert error.message == "There is no place or time zone 'Narnia'. Use an IANA name, such as Europe/Berlin."


@pytest.mark.parametrize(("name", "what"), [("Berlin", "time zone"), ("Berln", "place or time zone")])
async def test_a_city_is_answered_with_its_zone(name: str, what: str) -> None:
    error = await refused("get_current_time", {"timezone": name})
    assert error.message.startswith(f"There is no {what} {name!r}. Did you mean Europe/Berlin")


def test_both_tools_are_idempotent() -> None:
    assert [(each.name, each.namespace, each.idempotent) for each in tools] == [
        ("get_current_time", "time", True),
        ("convert_time", "time", True),
    ]
