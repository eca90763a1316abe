"""Tools that an MCP client carries out for a handler: a completion by the client's model, and the client's folders.

They are human tools, whose requests go to the client. Register one, and call it from a handler with `ctx.call`. Where
the client cannot answer, the request waits for a person.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ...tools.definition import Tool
from ...tools.function import tool

SAMPLING = "mcp-sampling"
"""The tag of a tool that asks the client's model."""
ROOTS = "mcp-roots"
"""The tag of a tool that asks for the client's folders."""


class Completion(BaseModel):
    """The response of the client's model."""

    model_config = ConfigDict(extra="ignore")

    role: str = Field(default="assistant", description="The role of the message")
    content: Any = Field(description="The content of the message")
    model: str = Field(default="", description="The name of the model")


class Roots(BaseModel):
    """The folders that the client's user works in."""

    model_config = ConfigDict(extra="ignore")

    roots: list[dict[str, Any]] = Field(description="The folders, each with its URI")


def sampling_tool(name: str = "ask_client_model") -> Tool:
    """Make a tool that asks the client's model."""

    @tool(name=name, answer=Completion, tags=[SAMPLING])
    async def ask(
        prompt: Annotated[str, "The message to the model"],
        max_tokens: Annotated[int, "The most tokens of the response"] = 1_000,
    ) -> None:
        """Ask the model of the client."""

    return ask


def roots_tool(name: str = "list_client_roots") -> Tool:
    """Make a tool that asks for the client's folders."""

    @tool(name=name, answer=Roots, tags=[ROOTS])
    async def ask() -> None:
        """List the folders that the client's user works in."""

    return ask
