"""An estimate of a session's memory."""

from sys import getsizeof

from ..execution.execution import Execution
from ..sessions.live_session import LiveSession

SAMPLE = 50
"""Events and executions of a session that are measured; the others count as their mean."""


def session_bytes(session: LiveSession) -> int:
    """Estimate the bytes of a session, its events and its executions, without those of handlers, models and readers.

    It measures a sample, so its cost is bounded.
    """
    board, index = session.board, session.index
    own = sum(map(getsizeof, (session, board, index, session.ledger)))
    kept = board.last_seq - board.first_seq + 1
    lines = board.read(board.first_seq - 1).encoded if kept else ()
    executions = index.entries
    return (
        own
        + _all(kept, [getsizeof(line) + 8 for line in lines[:: kept // SAMPLE + 1]])
        + _all(len(executions), [_execution_bytes(each) for each in executions[:: len(executions) // SAMPLE + 1]])
    )


def _all(count: int, sizes: list[int]) -> int:
    return count * sum(sizes) // len(sizes) if sizes else 0


def _execution_bytes(execution: Execution) -> int:
    texts = (execution.id, execution.event_ids, execution.document, execution.result_json)
    display = 0 if execution.display_arguments is execution.document else getsizeof(execution.display_arguments)
    return getsizeof(execution) + sum(map(getsizeof, texts)) + display
