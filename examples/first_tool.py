"""Your first tool: a typed function, its schema, and a call.

Run `python first_tool.py`. No key and no network is needed.
"""

import asyncio
import json
from typing import Annotated

from pydantic import Field

from callboard import Runtime, tool


@tool
async def get_forecast(
    city: Annotated[str, "Name of the city"],
    days: Annotated[int, Field(ge=1, le=14, description="How many days ahead")] = 1,
) -> list[str]:
    """Tell the weather forecast for a city."""
    return [f"day {day}: sunny in {city}" for day in range(1, days + 1)]


async def main() -> None:
    print("What a model sees:")
    print(json.dumps(get_forecast.schema("claude"), indent=2))

    async with Runtime([get_forecast]) as runtime:
        session = await runtime.open("alice_1", user_id="alice")

        outcome = await session.call("get_forecast", {"city": "Oslo", "days": 2})
        print(outcome.status, outcome.value)

        # Models send numbers as text. Where the meaning is clear, Callboard corrects it.
        outcome = await session.call("get_forecast", {"city": "Oslo", "days": "3"})
        print(outcome.status, len(outcome.value), "days")

        # A mistake is an outcome, with an error that tells the model what to correct.
        outcome = await session.call("get_forecast", {"town": "Oslo", "days": 99})
        assert outcome.error is not None
        print(outcome.status, outcome.error.category)
        for problem in outcome.error.details:
            print("-", problem["path"], problem["message"])


if __name__ == "__main__":
    asyncio.run(main())
