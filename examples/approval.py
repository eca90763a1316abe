"""An approval: the tool runs only after a person has agreed to its exact arguments.

Run `python approval.py`, and answer in the terminal. The open request is in a SQLite file, so you can also stop the
program, and answer the next time that you run it.
"""

import asyncio
import sys
from typing import Annotated

from callboard import OpenRequest, Runtime, tool


@tool(mode="human")
async def send_payment(to: Annotated[str, "Recipient"], cents: Annotated[int, "Amount in cents"]) -> str:
    """Send money to a recipient."""
    return f"{cents / 100:.2f} EUR went to {to}"


def ask(request: OpenRequest) -> bool:
    """Show a request to the person at the terminal, and read the decision."""
    print(f"{request.tool} wants to run with {request.payload}.")
    return input("Approve? [y/n] ").strip().lower() == "y"


async def main(store: str) -> None:
    async with Runtime([send_payment], store=store) as runtime:
        session = await runtime.open("alice_1", user_id="alice")

        if not await session.requests():  # none is left from an earlier run
            outcome = await session.call("send_payment", {"to": "Ada", "cents": 2500})
            print(outcome.status)  # waiting: nothing was paid yet

        for request in await session.requests():
            approved = await asyncio.to_thread(ask, request)
            answer = {"approved": True} if approved else {"approved": False, "reason": "Too expensive."}
            # The hash binds the answer to the arguments that the person saw.
            await session.answer(request.id, answer, arguments_hash=request.arguments_hash)

            outcome = await session.result(request.execution_id)
            print(outcome.value if outcome.error is None else outcome.error.message)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///approval.db"))
