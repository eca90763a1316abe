"""The `think` toolkit: a scratchpad for a model."""

from typing import Annotated

from callboard import tool


@tool(
    namespace="think", group="reasoning", idempotent=True, usage="Use it to plan several steps, not to answer the user."
)
async def think(thought: Annotated[str, "Known facts, open questions, and the next step"]) -> str:
    """Write down a thought, which stays in the conversation. It has no other effect."""
    return "Noted."


tools = (think,)
