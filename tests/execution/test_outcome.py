"""The outcome of a call as a value: it prints what a reader of a log or a debugger looks for (X1)."""

from callboard import Outcome, ToolError
from callboard.execution.outcome import OutcomeStatus


def test_x1_outcome_prints_its_value_or_its_error() -> None:
    done = Outcome(OutcomeStatus.SUCCEEDED, "x1", "c1", "add", b'{"sum":5}')
    assert repr(done) == "Outcome(status='succeeded', tool='add', execution_id='x1', value={'sum': 5})"
    error = ToolError("There is no tool 'add'.", category="not_found")
    failed = Outcome(OutcomeStatus.FAILED, "x1", "c1", "add", None, error)
    assert repr(failed).endswith("""error=ToolError("There is no tool 'add'.", category='not_found'))""")


def test_x1_long_value_is_cut_in_print() -> None:
    done = Outcome(OutcomeStatus.SUCCEEDED, "x1", "c1", "read", b'"' + b"x" * 100_000 + b'"')
    assert len(repr(done)) < 1_200
    assert repr(done).endswith("(100,002 characters))")
