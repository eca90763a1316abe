"""The tools that a client defines for its session, made one at a time: users take turns.

A definition takes up to 20 milliseconds of the event loop, and comes from an untrusted client. Above stand the server
and AG-UI, which replace the session's own tools with these.
"""

from collections.abc import Sequence

from ..errors import CallboardError
from ..tools.definition import Tool
from ..tools.front_end import FrontEndTool, check_list, known_tool, make_tool
from .live_session import LiveSession

MAX_WAITING = 8
"""Requests of one user that may wait with new definitions."""
PER_TOOL, PER_BYTE, MOST = 2e-3, 15e-6, 20e-3
"""Estimated seconds per definition and per byte of it, and for the most expensive one."""


class TooManyDefinitions(CallboardError):
    """Too many requests of a user define new tools at once."""

    code = "too_many_large_requests"


async def make_client_tools(session: LiveSession, given: Sequence[FrontEndTool]) -> list[Tool]:
    """Return the tools of a client. New definitions wait for the turn of the session's user.

    Raises `FrontEndToolsRefused`, `RegistrationError` or `SchemaError` for an invalid tool, or `TooManyDefinitions`.
    """
    check_list(given)
    pacer, user_id = session.services.definitions, session.user_id
    made: list[Tool] = []
    for each in given:
        tool = known_tool(each)
        if tool is None:
            if pacer.waiting(user_id) >= MAX_WAITING:
                raise TooManyDefinitions("Too many of your requests define new tools. Wait for their responses.")
            await pacer.enter(user_id, min(MOST, PER_TOOL + PER_BYTE * len(str(each.parameters))))
            tool = make_tool(each)
        made.append(tool)
    return made
