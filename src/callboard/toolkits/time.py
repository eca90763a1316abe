"""The `time` toolkit: the current time, and conversion between time zones."""

import difflib
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import BaseModel, Field

from callboard import ToolError, tool


class Moment(BaseModel):
    """A time in a time zone."""

    time: Annotated[str, Field(description="ISO 8601, with the offset from UTC")]
    timezone: Annotated[str, Field(description="The IANA name of the zone")]
    weekday: Annotated[str, Field(description="The day of the week, in English")]
    utc_offset: Annotated[str, Field(description="The zone's offset from UTC at that time, as +HH:MM or +HH:MM:SS")]


class Conversion(Moment):
    """A time that was converted to another time zone."""

    note: Annotated[str | None, Field(description="Why the given time is not clear, if a clock is changed then")] = None


@tool(namespace="time", group="utility", idempotent=True)
async def get_current_time(
    timezone: Annotated[
        str, Field(description="IANA name, such as Europe/Berlin", examples=["UTC", "Asia/Tokyo"])
    ] = "UTC",
) -> Moment:
    """Return the current date and time in a time zone."""
    return _moment(datetime.now(UTC).astimezone(_zone(timezone)), timezone)


@tool(namespace="time", group="utility", idempotent=True)
async def convert_time(
    time: Annotated[str, "ISO 8601, such as 2026-03-29T14:30; an offset in it wins over from_timezone"],
    to_timezone: Annotated[str, "IANA name of the target zone"],
    from_timezone: Annotated[str, "IANA name of the zone of `time`"] = "UTC",
) -> Conversion:
    """Convert a date and time from one time zone to another."""
    try:
        given = datetime.fromisoformat(time)
    except ValueError:
        raise ToolError(
            f"{time[:80]!r} is not an ISO 8601 time, such as 2026-03-29T14:30.", category="validation"
        ) from None
    target = _zone(to_timezone)
    try:
        note = None
        if given.tzinfo is None:
            given = given.replace(tzinfo=_zone(from_timezone))
            note = _note(given, from_timezone)
        moment = _moment(given.astimezone(UTC).astimezone(target), to_timezone)
        return Conversion(**moment.model_dump(), note=note)
    except OverflowError:
        raise ToolError(
            f"{time[:80]!r} is outside the range of years that can be converted.", category="validation"
        ) from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        zones = {zone if "/" in name else zone.rpartition("/")[2]: zone for zone in available_timezones()}
        similar = [zones[each] for each in difflib.get_close_matches(name, zones, n=3, cutoff=0.8)]
        what = "time zone" if "/" in name or name in zones else "place or time zone"
        hint = f" Did you mean {', '.join(similar)}?" if similar else " Use an IANA name, such as Europe/Berlin."
        raise ToolError(f"There is no {what} {name[:80]!r}.{hint}", category="validation") from None


def _note(local: datetime, zone: str) -> str | None:
    """What is unclear about a local time: clocks that are changed skip it, or show it twice."""
    first, second = local.replace(fold=0), local.replace(fold=1)
    if first.utcoffset() == second.utcoffset():
        return None
    if first.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) != local.replace(tzinfo=None):
        return f"Clocks in {zone} skip this time. It was read with the offset before the change, {_offset(first)}."
    return (
        f"Clocks in {zone} show this time twice. It was read as the first, {_offset(first)}; the second is "
        f"{_offset(second)}. Give an offset in the time to choose."
    )


def _offset(moment: datetime) -> str:
    """The offset from UTC, with seconds if it has any."""
    text = moment.strftime("%z")
    return ":".join(filter(None, (text[:3], text[3:5], text[5:7])))


def _moment(moment: datetime, zone: str) -> Moment:
    return Moment(
        time=moment.isoformat(timespec="seconds"),
        timezone=zone,
        weekday=moment.strftime("%A"),
        utc_offset=_offset(moment),
    )


tools = (get_current_time, convert_time)
