"""The tools that a client sends with a message or an answer: the model may call them, and the client executes them.

They belong to the live session of this process. A call is an open request, which is stored and outlives the process.
"""

from collections.abc import Sequence

from ..errors import RegistrationError, SchemaError
from ..protocols.problem import Problem
from ..sessions.client_tools import TooManyDefinitions, make_client_tools
from ..sessions.live_session import LiveSession
from ..tools.front_end import FrontEndTool
from .models import PageTool


async def declare_page_tools(session: LiveSession, given: Sequence[PageTool] | None) -> None:
    """Replace the client's tools in a session. None keeps them. Raises `Problem` (422, 429), and changes nothing.

    The caller has checked that the session belongs to the user of the request.
    """
    if given is None:
        return
    try:
        definitions = [FrontEndTool(each.name, each.description, each.parameters) for each in given]
        tools = await make_client_tools(session, definitions)
        session.toolbox.replace_own_tools(tools)
    except TooManyDefinitions as error:
        raise Problem(429, error.code, "Too many at once", str(error), {"retry-after": "1"}) from None
    except (RegistrationError, SchemaError) as error:
        raise Problem(422, RegistrationError.code, "A tool is not valid", str(error)) from None
