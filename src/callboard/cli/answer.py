"""`callboard requests answer`: close a request from here, whichever process waits for it, or none."""

import time
from typing import Annotated, Any, NamedTuple

import typer
from pydantic_core import from_json
from rich.text import Text

from ..errors import ErrorCategory, ToolError
from ..runtime import Runtime
from ..sessions.answers import AnswerInvalid, arguments_hash
from ..sessions.requests import RequestClosed
from ..storage.rows import RequestRow
from ..storage.store import Store
from .arguments import ArgumentsError, read_document
from .console import AsJson, err, fail, print_json, print_line
from .exits import Exit
from .loading import find_tool, load_registry
from .records import request_status
from .report import show_problems
from .session_status import holder, lives, process_name
from .store import DEFAULT, Address, require, say, visit_opened
from .text import one_line, span
from .verdict import check, give, verdict


class Answered(NamedTuple):
    """A request that was closed, and what comes of it."""

    row: RequestRow
    number: int
    """The number of the event."""
    held_by: str | None
    """The process that waits for the answer; None where none does."""
    running: tuple[str, ...]
    """The processes that work with the store: one of them goes on with a call that no process holds."""


def answer_request(
    request_id: Annotated[str, typer.Argument(metavar="REQUEST", help="The request's id.", show_default=False)],
    answer: Annotated[
        str | None,
        typer.Argument(
            metavar="ANSWER", help="The answer: JSON text, @FILE for a file, - for standard input.", show_default=False
        ),
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Let the call run.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Refuse it: the call never runs.")] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --reject: why, for the model.", show_default=False)
    ] = None,
    arguments: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="With --approve: other arguments, with which it runs.", show_default=False),
    ] = None,
    seen: Annotated[
        str | None,
        typer.Option(
            "--arguments-hash",
            metavar="HASH",
            help="Answer only if the request is about these arguments; requests list --json shows the hash.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--tools",
            metavar="PACKAGE.MODULE:REGISTRY",
            help="Whose tools; then the answer is held against the tool's own types.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """Answer what a person is asked: with JSON, --approve or --reject.

    The answer is stored, and the call goes on with it in the process
    where it waits, or as soon as a runtime is started again. It is held
    against the schema that is stored with the request, or with --tools
    against the tool's own types.

    Exit codes:

      0  it is answered
      1  it is not open any more, or the store cannot be used
      2  the command was not understood
      3  the answer is not JSON, or not what is asked for; it stays open
      4  there is no such request, or no such tool
    130  it was stopped by Ctrl-C
    """
    if (answer is not None) + approve + reject != 1:
        raise typer.Exit(fail("Give one of these: an answer as JSON, --approve, or --reject.", Exit.USAGE))
    if (arguments is not None and not approve) or (reason is not None and not reject):
        raise typer.Exit(fail("--arguments goes with --approve, and --reason with --reject.", Exit.USAGE))
    given, edited = _read(answer, "ANSWER"), _read(arguments, "--arguments")
    registry = None if source is None else load_registry(source)
    require(store)
    runtime = Runtime(registry or (), store=store, recover=False)

    async def close(store: Store) -> Answered:
        row = await _open_request(store, request_id)
        said = given if answer is not None else verdict(row, approve, reason, edited)
        if registry is None:
            check(row, said)
        else:
            find_tool(registry, row.tool)  # by whose types it will be judged
        execution = await store.execution(row.session_id, row.execution_id)
        owners = {owner.id: owner for owner in await store.owners()}
        number = await give(runtime, row, said, arguments_hash(row) if seen is None else seen)
        held_by = None if execution is None else holder(execution, owners)
        running = tuple(sorted(owner.id for owner in owners.values() if lives(owner)))
        return Answered(await store.request(row.id) or row, number, held_by, running)

    try:
        answered = visit_opened(runtime.store, close)
    except AnswerInvalid as error:
        raise typer.Exit(_show_problems(error)) from error
    _show(answered, as_json)
    if edited is not None and registry is None:
        say("The arguments will be held against the tool's types when the call runs; with --tools, it is done at once.")


def _read(given: str | None, name: str) -> Any:
    if given is None:
        return None
    try:
        return from_json(read_document(given, name))
    except ArgumentsError as error:
        raise typer.Exit(fail(str(error), error.exit_code)) from error
    except ValueError as error:  # a number or a depth that Python takes and others do not
        raise typer.Exit(fail(f"{name} cannot be used: {error}.", Exit.INVALID)) from error


async def _open_request(store: Store, request_id: str) -> RequestRow:
    """The request of that id. Raises `ToolError` (not_found) or `RequestClosed`, which says what became of it."""
    row = await store.request(request_id)
    if row is None:
        message = f"There is no request {one_line(request_id)!r}. See: callboard requests list"
        raise ToolError(message, category=ErrorCategory.NOT_FOUND)
    now = time.time()
    if (status := request_status(row, now)) != "open":
        since = row.answered_at or row.expires_at or now
        raise RequestClosed(
            f"The request of {one_line(row.tool)} {_ENDS.get(status, f'became {status}')} {span(now - since)} ago."
        )
    return row


_ENDS = {
    "answered": "was answered",
    "used": "was answered",
    "refused": "was refused",
    "expired": "expired",
    "withdrawn": "was withdrawn, since its call ended,",
}


def _show(answered: Answered, as_json: bool) -> None:
    row, refused = answered.row, answered.row.status == "refused"
    if as_json:
        print_json(
            {
                "request_id": row.id,
                "session_id": row.session_id,
                "execution_id": row.execution_id,
                "tool": row.tool,
                "status": "refused" if refused else "answered",
                "event": answered.number,
                "held_by": answered.held_by,
                "goes_on": bool(answered.held_by or answered.running),
            }
        )
        return
    what = Text("refused", "red") if refused else Text("answered", "green")
    where = one_line(f"in session {row.session_id}, as event {answered.number:,}.")
    print_line(Text.assemble((one_line(row.tool), "bold"), " is ", what, " ", where))
    verb = "ends" if refused else "goes on"
    if answered.held_by is not None or len(answered.running) == 1:
        hint = f"The call {verb} in {process_name(answered.held_by or answered.running[0])}."
    elif answered.running:
        hint = f"The call {verb} in one of the {len(answered.running)} processes that work with this store."
    else:
        hint = f"No process waits for it now; the call {verb} when a runtime is started with this store."
    err.print(Text(hint, "dim"), soft_wrap=True)


def _show_problems(error: AnswerInvalid) -> Exit:
    if not error.problems:
        return Exit(fail(str(error), Exit.INVALID))
    fail("the answer is not what is asked for:", Exit.INVALID)
    show_problems(error.problems, "where")
    return Exit.INVALID
