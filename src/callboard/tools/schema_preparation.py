"""Preparation of schemas before many tools are described at once.

Tools make their schemas on first use, which takes up to a few milliseconds for each. Code that describes a list of
tools awaits this first, and then only reads finished schemas.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from .definition import Tool


async def prepare_schemas(tools: Iterable[Tool]) -> None:
    """Make the missing schemas of some tools, and let other tasks run after each tool.

    Tools that have their schemas cost nothing. Errors are left to the code that uses the schema, which raises them
    again.
    """
    for tool in tools:
        if not tool.has_schemas:
            with suppress(Exception):
                _ = tool.input_schema, tool.output_schema  # from which the dialects are derived at little cost
            await asyncio.sleep(0)
