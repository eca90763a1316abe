"""A question: the tool has no body, and a person's answer is its result.

The type of the answer is the form that the page and the terminal show. Run `python question_with_form.py`.
"""

import asyncio
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from callboard import AnswerInvalid, Runtime, tool


class Delivery(BaseModel):
    street: str = Field(description="Street and number")
    city: str = Field(description="Town or city")
    speed: Literal["standard", "express"] = Field("standard", description="How fast")


@tool(mode="human", answer=Delivery, expires=3600)
async def ask_delivery(article: Annotated[str, "What is delivered"]) -> Delivery:  # pyright: ignore[reportReturnType]
    """Ask the user where to deliver an article."""


async def main() -> None:
    async with Runtime([ask_delivery]) as runtime:
        session = await runtime.open("alice_1", user_id="alice")
        question = await session.call("ask_delivery", {"article": "lamp"})
        [request] = await session.requests()

        print("The form has these fields:")
        assert request.answer_schema is not None
        for name, field in request.answer_schema["properties"].items():
            print(f"  {name}: {field['description']}")

        try:
            await session.answer(request.id, {"street": "3 Rue Cuvier", "speed": "by air"})
        except AnswerInvalid as error:
            print("Not accepted:", *error.problems)  # the request stays open

        await session.answer(request.id, {"street": "3 Rue Cuvier", "city": "Paris"})
        outcome = await session.result(question.execution_id)
        print(outcome.value)


if __name__ == "__main__":
    asyncio.run(main())
