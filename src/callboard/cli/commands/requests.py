"""`callboard requests`: list requests to people, and answer them, whether or not a process waits for the answer."""

import time
from typing import Annotated, Any, NamedTuple

import typer
from pydantic_core import from_json
from rich.text import Text

from ...runtime import Runtime
from ...sessions.answers import AnswerInvalid, arguments_hash
from ...sessions.ids import SessionNotFound
from ...sessions.requests import RequestClosed
from ...storage.rows import RequestRow
from ...storage.store import Store
from ...tools.schema_arguments import validator, violation
from ...types import RequestPurpose
from ..options import find_tool, read_document, repeat_options
from ..process import CommandError, Exit
from ..terminal.console import AsJson, Column, err, fail, note, out, print_json, print_line, print_problems, show_table
from ..terminal.text import compact, one_line, span
from ..tool_source import load_registry
from .store import (
    DEFAULT,
    Address,
    find_session,
    is_alive,
    only_match,
    owner_of,
    process_name,
    request_data,
    request_status,
    require_store,
    use_opened,
    use_store,
)

requests = typer.Typer(help="List requests to people, and answer them.", no_args_is_help=True)

MAX_REQUESTS = 10_000
"""Requests that are listed, at most."""
MAX_VALUE = 160
"""Characters of a payload or an answer that a cell shows, at most."""

WALLET_EXAMPLE = '{"status": "confirmed", "transaction_hash": "0x12ab"}'

_COLUMNS = (
    Column("request", "cyan"),
    Column("session"),
    Column("user"),
    Column("tool", "bold"),
    Column("status"),
    Column("age"),
    Column("payload", wraps=True),
    Column("answer", wraps=True),
)
_STYLES = {"open": "magenta", "answered": "green", "used": "green", "refused": "red"}
_CLOSED = {
    "answered": "was answered",
    "used": "was answered",
    "refused": "was refused",
    "expired": "expired",
    "withdrawn": "was withdrawn when its call ended,",
}


@requests.command("list")
def list_requests(
    session_id: Annotated[
        str | None, typer.Option("--session", help="Only requests of this session.", show_default=False)
    ] = None,
    user: Annotated[str | None, typer.Option(help="Only requests of this user.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include requests that are no longer open.")] = False,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """List open requests to people, oldest first."""

    async def load(store: Store) -> list[RequestRow]:
        session = None if session_id is None else (await find_session(store, session_id)).id
        status = None if everything else "open"
        return await store.requests(session_id=session, user_id=user, status=status, limit=MAX_REQUESTS)

    found, now = use_store(store, load), time.time()
    rows = [row for row in found if everything or request_status(row, now) == "open"]
    if as_json:
        print_json([request_data(row, now) for row in rows])
    elif rows:
        columns = _COLUMNS if everything else _COLUMNS[:-1]
        show_table(columns, [_row(row, now)[: len(columns)] for row in rows])
        if out.is_terminal and not everything:
            out.print("\n[dim]To answer: callboard requests answer REQUEST --approve, --reject, or JSON[/]")
    else:
        out.print("No requests." if everything else "No open requests.")
    if len(found) == MAX_REQUESTS:
        note(f"Only the oldest {MAX_REQUESTS:,} requests are listed. Filter with --session or --user.")


def _row(row: RequestRow, now: float) -> tuple[str | Text, ...]:
    status = request_status(row, now)
    expiry = f", expires in {span(row.expires_at - now)}" if status == "open" and row.expires_at is not None else ""
    return (
        row.id,
        one_line(row.session_id),
        one_line(row.user_id),
        one_line(row.tool),
        Text(status + expiry, _STYLES.get(status, "dim")),
        span(now - row.created_at),
        compact(from_json(row.payload), MAX_VALUE),
        "" if row.answer is None else compact(from_json(row.answer), MAX_VALUE),
    )


# Answering a request


class Answered(NamedTuple):
    """An answered request, and the processes that may continue its call."""

    row: RequestRow
    seq: int
    """The number of the answer's event."""
    held_by: str | None
    """The process that waits for the answer, if any."""
    running: tuple[str, ...]
    """The processes that use the store. One of them continues a call that no process holds."""


@requests.command("answer")
def answer_request(
    request_id: Annotated[
        str,
        typer.Argument(metavar="REQUEST", help="The id of the request, or its beginning.", show_default=False),
    ],
    answer: Annotated[
        str | None,
        typer.Argument(
            metavar="ANSWER", help="The answer: JSON text, @FILE for a file, - for standard input.", show_default=False
        ),
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Approve the call.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject the call: it never runs.")] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --reject: a reason for the model.", show_default=False)
    ] = None,
    arguments: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="With --approve: run the call with these arguments.", show_default=False),
    ] = None,
    expected_hash: Annotated[
        str | None,
        typer.Option(
            "--arguments-hash",
            metavar="HASH",
            help="Answer only if the request has these arguments. requests list --json prints the hash.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--tools",
            metavar="MODULE:NAME",
            help="The tools to use: the answer is validated by the tool's types.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """Answer a request to a person: with JSON, --approve or --reject.

    The answer is stored. The call continues in the process that waits
    for it, or when a runtime is started again. The answer is validated
    by the schema stored with the request, or with --tools by the tool's
    own types.

    Exit codes:

    \b
      0  answered
      1  the request is no longer open, or the store cannot be used
      2  the command line is not valid
      3  the answer is not JSON or not valid; the request stays open
      4  there is no such request or tool
    130  stopped by Ctrl-C
    """  # noqa: D301  # \b keeps the lines of a paragraph apart
    if (answer is not None) + approve + reject != 1:
        raise CommandError("Give exactly one of: an answer as JSON, --approve, --reject.", Exit.USAGE)
    if (arguments is not None and not approve) or (reason is not None and not reject):
        raise CommandError("--arguments needs --approve, and --reason needs --reject.", Exit.USAGE)
    typed, edited = _read(answer, "ANSWER"), _read(arguments, "--arguments")
    registry = None if source is None else load_registry(source)
    require_store(store)
    runtime = Runtime(registry or (), store=store, recover=False)

    async def close_request(store: Store) -> Answered:
        row = await _find_open(store, request_id)
        value = typed if answer is not None else _decision(row, approve, reason, edited)
        if registry is None:
            _validate(row, value)
        else:
            find_tool(registry, row.tool, repeat_options(source))  # its types validate the answer
        execution = await store.execution(row.session_id, row.execution_id)
        owners = {owner.id: owner for owner in await store.owners()}
        seq = await _submit(runtime, row, value, arguments_hash(row) if expected_hash is None else expected_hash)
        held_by = None if execution is None else owner_of(execution, owners)
        running = tuple(sorted(owner.id for owner in owners.values() if is_alive(owner)))
        return Answered(await store.request(row.id) or row, seq, held_by, running)

    try:
        answered = use_opened(runtime.store, close_request)
    except AnswerInvalid as error:
        if not error.problems:
            raise CommandError(str(error), Exit.INVALID) from error
        fail("the answer is not valid:", Exit.INVALID)
        print_problems(error.problems, "field")
        raise typer.Exit(Exit.INVALID) from error
    _print_answered(answered, as_json)
    if edited is not None and registry is None:
        note("The new arguments are validated when the call runs. With --tools, they are validated before.")


def _decision(row: RequestRow, approved: bool, reason: str | None, arguments: Any) -> Any:
    """The answer that --approve or --reject means. Raises `AnswerInvalid` if the request is not for an approval."""
    if row.purpose == RequestPurpose.WALLET:
        if approved:
            raise AnswerInvalid(f"A wallet request needs the result of the transaction, such as: {WALLET_EXAMPLE}")
        return {"status": "rejected", **({} if reason is None else {"detail": reason})}
    if row.purpose != RequestPurpose.APPROVAL:
        raise AnswerInvalid(f"The request of {row.tool} needs an answer, not an approval. Give it as JSON.")
    fields = {"arguments": arguments, "reason": reason}
    return {"approved": approved, **{name: value for name, value in fields.items() if value is not None}}


def _validate(row: RequestRow, answer: Any) -> None:
    """Validate an answer by the schema stored with its request. Raises `AnswerInvalid`."""
    errors = validator(from_json(row.schema), "stored").iter_errors(answer)
    if problems := [violation(error) for error in errors]:
        raise AnswerInvalid("The answer is not valid.", problems)


async def _submit(runtime: Runtime, row: RequestRow, answer: Any, expected_hash: str) -> int:
    """Store the answer to a request about arguments with a hash. Returns the number of its event.

    Only the runtime's store has to be open: its tools are not started, and no call runs in it. The session is loaded
    and not opened, so that the answer is not a login. Raises `RequestClosed`, or `ArgumentsMismatch` and
    `AnswerInvalid`, after which the request is still open.
    """
    await runtime.sessions.start()
    try:
        session = await runtime.sessions.find_or_load(row.session_id)
        if session is None:
            raise SessionNotFound(f"The session {row.session_id!r} was removed.")
        return await session.answer(row.id, answer, arguments_hash=expected_hash)
    finally:
        await runtime.sessions.stop()


def _read(value: str | None, name: str) -> Any:
    if value is None:
        return None
    document = read_document(value, name)
    try:
        return from_json(document)
    except ValueError as error:  # a number or a depth that only Python's parser accepts
        raise CommandError(f"{name} cannot be used: {error}.", Exit.INVALID) from error


async def _find_open(store: Store, request_id: str) -> RequestRow:
    """Find an open request by its id, or the only one whose id begins so.

    Raises `CommandError`, or `RequestClosed` with how and when it was closed.
    """
    row = await store.request(request_id)
    if row is None:
        row = only_match(request_id, await store.requests(status="open", limit=MAX_REQUESTS), "open requests")
    if row is None:
        raise CommandError(
            f"There is no request {one_line(request_id)!r}. See: callboard requests list", Exit.NOT_FOUND
        )
    now = time.time()
    if (status := request_status(row, now)) != "open":
        age = span(now - (row.answered_at or row.expires_at or now))
        raise RequestClosed(f"The request of {one_line(row.tool)} {_CLOSED.get(status, f'became {status}')} {age} ago.")
    return row


def _print_answered(answered: Answered, as_json: bool) -> None:
    row, refused = answered.row, answered.row.status == "refused"
    if as_json:
        print_json(
            {
                "request_id": row.id,
                "session_id": row.session_id,
                "execution_id": row.execution_id,
                "tool": row.tool,
                "status": "refused" if refused else "answered",
                "event": answered.seq,
                "held_by": answered.held_by,
                "goes_on": bool(answered.held_by or answered.running),
            }
        )
        return
    status = Text("refused", "red") if refused else Text("answered", "green")
    where = one_line(f"in session {row.session_id}, as event {answered.seq:,}.")
    print_line(Text.assemble((one_line(row.tool), "bold"), " is ", status, " ", where))
    verb = "ends" if refused else "continues"
    if answered.held_by is not None or len(answered.running) == 1:
        hint = f"The call {verb} in {process_name(answered.held_by or answered.running[0])}."
    elif answered.running:
        hint = f"The call {verb} in one of the {len(answered.running)} processes that use this store."
    else:
        hint = f"No process is waiting for it; the call {verb} when a runtime is started on this store."
    err.print(Text(hint, "dim"), soft_wrap=True)
