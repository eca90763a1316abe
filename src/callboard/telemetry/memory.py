"""How much memory a session takes, estimated from what it holds."""

from sys import getsizeof

from ..execution.execution import Execution
from ..sessions.live_session import LiveSession

LOOKED_AT = 50
"""How many of a session's events, and of its executions, are looked at; the others count as their mean."""


def session_bytes(session: LiveSession) -> int:
    """The session itself, its events in memory and its executions. What handlers, models and readers hold is not in it.

    It is an estimate: it looks at a few of the events and executions, so that it costs little however many there are.
    """
    board, index = session.board, session.index
    own = sum(map(getsizeof, (session, board, index, session.ledger)))
    kept = board.last_seq - board.first_seq + 1
    lines = board.read(board.first_seq - 1).encoded if kept else ()
    executions = index.entries
    return (
        own
        + _all(kept, [getsizeof(line) + 8 for line in lines[:: kept // LOOKED_AT + 1]])
        + _all(len(executions), [_execution_bytes(each) for each in executions[:: len(executions) // LOOKED_AT + 1]])
    )


def _all(count: int, sizes: list[int]) -> int:
    return count * sum(sizes) // len(sizes) if sizes else 0


def _execution_bytes(execution: Execution) -> int:
    texts = (execution.id, execution.event_ids, execution.document, execution.result_json)
    shown = 0 if execution.display_arguments is execution.document else getsizeof(execution.display_arguments)
    return getsizeof(execution) + sum(map(getsizeof, texts)) + shown
