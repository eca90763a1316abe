"""The tools that a client sends with a message or an answer: the model may call them, and the client executes them.

They belong to the live session of this process. A call is an open request, which is stored and outlives the process.
"""

from collections.abc import Sequence

from ..errors import RegistrationError, SchemaError
from ..protocols.problem import Problem
from ..sessions.live_session import LiveSession
from ..tools.front_end import FrontEndTool, front_end_tools
from .models import PageTool


def declare_page_tools(session: LiveSession, given: Sequence[PageTool] | None) -> None:
    """Replace the client's tools in a session. None keeps them. Raises `Problem` (422), and changes nothing.

    The caller has checked that the session belongs to the user of the request.
    """
    if given is None:
        return
    try:
        tools = front_end_tools([FrontEndTool(each.name, each.description, each.parameters) for each in given])
        session.toolbox.replace_own_tools(tools)
    except (RegistrationError, SchemaError) as error:
        raise Problem(422, RegistrationError.code, "A tool is not valid", str(error)) from None
