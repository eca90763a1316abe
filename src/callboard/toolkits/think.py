"""A place for a model to think in writing, before it acts."""

from typing import Annotated

from callboard import tool


@tool(
    namespace="think", group="reasoning", idempotent=True, usage="Use it to plan several steps, not to answer the user."
)
async def think(thought: Annotated[str, "What is known, what is open, and what to do next"]) -> str:
    """Write down a thought. It changes nothing and fetches nothing; it stays in the conversation."""
    return "Noted."


tools = (think,)
