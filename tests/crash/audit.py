"""The audit of a crash test: compares the store with the log of the witness, and lists every difference."""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from callboard.adapters.stores import open_store
from callboard.adapters.stores.event_header import event_header
from callboard.storage.rows import ExecutionRow, RequestRow, SessionRow

from .tools import IDEMPOTENT, PERSONAL, doubled
from .witness import Fact, facts_in

ENDS = ("succeeded", "failed", "cancelled")


class Line(NamedTuple):
    """An event of a board."""

    seq: int
    kind: str
    data: Mapping[str, Any]
    at: float
    """Seconds since 1970."""


@dataclass(kw_only=True)
class Kept:
    """The stored rows and events of one session."""

    row: SessionRow
    lines: list[Line]
    executions: dict[str, ExecutionRow]
    requests: dict[str, RequestRow]
    by_call: dict[str, ExecutionRow] = field(init=False)
    events_of: dict[str, list[Line]] = field(init=False)
    """The events of each execution."""

    def __post_init__(self) -> None:
        self.by_call = {row.call_id: row for row in self.executions.values()}
        self.events_of = defaultdict(list)
        for line in self.lines:
            if "execution_id" in line.data:
                self.events_of[line.data["execution_id"]].append(line)

    def request_of(self, execution_id: str) -> RequestRow | None:
        return next((row for row in self.requests.values() if row.execution_id == execution_id), None)


@dataclass
class Verdict:
    """The result of an audit."""

    calls: int = 0
    """Acknowledged calls."""
    runs: int = 0
    """Handlers that were entered."""
    interrupted: int = 0
    rerun: int = 0
    """Executions that were entered more than once, all of them idempotent unless `doubled` says otherwise."""
    interrupted_in: set[str] = field(default_factory=set[str])
    """The processes in which they were entered."""
    never_entered: int = 0
    """Interrupted executions whose process died between the commit of the start and the handler."""
    lost: list[str] = field(default_factory=list[str])
    """Acknowledged changes that are not stored, or stored differently."""
    doubled: list[str] = field(default_factory=list[str])
    """Effects that happened twice."""
    wrong: list[str] = field(default_factory=list[str])
    """Other broken promises."""

    @property
    def clean(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)

    def __add__(self, other: "Verdict") -> "Verdict":
        both = [(each.name, getattr(self, each.name), getattr(other, each.name)) for each in fields(self)]
        return Verdict(**{name: one | two if isinstance(one, set) else one + two for name, one, two in both})

    def __str__(self) -> str:
        said = (
            f"{self.calls} calls, {self.runs} runs, {self.interrupted} interrupted ({self.never_entered} before their "
            f"handler), {self.rerun} re-run, lost = {len(self.lost)}, doubled = {len(self.doubled)}"
        )
        problems = [*self.lost, *self.doubled, *self.wrong]
        return "\n".join([said, *problems[:40], *(["…"] if len(problems) > 40 else [])])


async def audit(store_url: str, witness: Path, declared_dead: Container[str] = ()) -> Verdict:
    """Compare the store with the log of the witness, after all work has ended and no process uses the store.

    `declared_dead` are processes that lived on after their work was taken over: their callers got the results, which
    also wait to be taken, because the process that took over could not know of these callers.
    """
    facts = list(facts_in(witness))
    kept = await kept_in(store_url)
    verdict = Verdict()
    for what in (fact for fact in facts if fact["what"] == "fault"):
        verdict.wrong.append(f"{what['who']} failed: {what['trace']}")
    left = {fact["who"] for fact in facts if fact["what"] == "leaves"}
    by_session: dict[str, list[Fact]] = defaultdict(list)
    home = {execution_id: each.row.id for each in kept.values() for execution_id in each.executions}
    for fact in facts:
        session_id = fact.get("session") or home.get(fact.get("execution") or "")
        if fact["what"] in ("begin", "end") and fact["execution"] is None:
            session_id = next((each.row.id for each in kept.values() if fact["call"] in each.by_call), None)
        if session_id is not None:
            by_session[session_id].append(fact)
    for session in kept.values():
        _Session(session, by_session[session.row.id], verdict, declared_dead, left).check()
    for fact in facts:
        if fact["what"] == "outcome" and fact["session"] not in kept:
            verdict.lost.append(f"the session {fact['session']}")
        if fact["what"] == "begin":
            verdict.runs += 1
            unknown = fact["execution"] not in home and fact["tool"] not in (*IDEMPOTENT, "tally")
            if unknown:
                verdict.wrong.append(
                    f"{fact['tool']} was entered as {fact['execution']}, which the store does not know"
                )
    return verdict


class _Session:
    """The audit of one session."""

    def __init__(
        self, kept: Kept, facts: list[Fact], verdict: Verdict, declared_dead: Container[str], left: Collection[str]
    ) -> None:
        self._kept = kept
        self._declared_dead = declared_dead
        self._left = left
        """Processes that ended by themselves, and stopped or refused calls that began at that moment."""
        self._verdict = verdict
        self._facts = facts
        self._begun = Counter(self._run_of(fact) for fact in self._of("begin"))
        self._where = {self._run_of(fact): fact["who"] for fact in self._of("begin")}
        self._ended = Counter(self._run_of(fact) for fact in self._of("end"))

    def check(self) -> None:
        for name, part in (
            ("lost", (self._acknowledged(), self._posts(), self._late())),
            ("doubled", (self._runs(), self._stopped(), self._taken())),
            ("wrong", (self._numbers(), self._boards(), self._honesty(), self._requests(), self._workers())),
        ):
            found: list[str] = getattr(self._verdict, name)
            for problems in part:
                found += [f"{self._kept.row.id}: {problem}" for problem in problems]

    def _of(self, *what: str) -> Iterator[Fact]:
        return (fact for fact in self._facts if fact["what"] in what)

    def _run_of(self, fact: Fact) -> str:
        if fact["execution"] is not None:
            return fact["execution"]
        row = self._kept.by_call.get(fact["call"])
        return fact["call"] if row is None else row.id

    # Nothing is lost

    def _acknowledged(self) -> Iterable[str]:
        """Each acknowledged call is stored, under its execution, as it was acknowledged."""
        first: set[str] = set()
        for fact in self._of("outcome"):
            if fact["how"] == "call":
                self._verdict.calls += 1
            row = self._kept.executions.get(fact["execution"])
            if fact["how"] == "other":
                if fact["category"] != "validation" and fact["call"] not in first:
                    yield f"{fact['call']} with other arguments was {fact['status']} ({fact['category']})"
                continue
            if row is None:
                yield f"{fact['call']} got {_reported(fact)} ({fact['how']}) as {fact['execution']}, not stored"
            elif row.call_id != fact["call"]:
                yield f"{fact['execution']} is of {row.call_id}, not of {fact['call']}"
            elif fact["status"] in ENDS:
                if _outcome(row) != (fact["status"], fact["value"], fact["category"]):
                    yield f"{fact['call']} got ({fact['how']}) {_reported(fact)}, and is {_outcome(row)}"
            elif row.completed_at is None and not self._is_asked(row):
                yield f"{row.id} of {row.tool} never ended: it is {row.status}, held by {row.owner}"
        for row in self._kept.executions.values():
            if row.completed_at is None and not self._is_asked(row):
                yield f"{row.id} of {row.tool} ({row.kind}) is still {row.status}, held by {row.owner}"

    def _posts(self) -> Iterable[str]:
        """Each acknowledged event is on the board, under its acknowledged number."""
        for fact in self._of("said", "asked", "answered"):
            line = self._kept.lines[fact["seq"] - 1] if fact["seq"] <= len(self._kept.lines) else None
            wanted: dict[str, tuple[str, str, Any]] = {
                "said": ("user_input", "text", fact.get("text")),
                "asked": ("user_request", "request_id", fact.get("request")),
                "answered": ("human_answer", "request_id", fact.get("request")),
            }
            kind, name, value = wanted[fact["what"]]
            if line is None or line.kind != kind or line.data.get(name) != value:
                yield f"the {kind} {value} is not at {fact['seq']}, there is {line}"

    def _late(self) -> Iterable[str]:
        """The results of calls whose start was acknowledged wait, or were taken."""
        taken = {result[0] for fact in self._of("taken") for result in fact["results"]}
        waiting = set(self._kept.row.unconsumed)
        perhaps = sum(1 for _ in self._of("take")) - sum(1 for _ in self._of("taken"))
        missing: list[str] = []
        calls = [fact for fact in self._of("outcome") if fact["how"] == "call"]
        let_go = {fact["execution"] for fact in calls if fact["status"] not in ENDS}
        direct = {
            fact["execution"] for fact in calls if fact["status"] in ENDS and fact["who"] not in self._declared_dead
        }
        for row in self._kept.executions.values():
            if row.kind != "tool" or row.parent_id is not None or row.completed_at is None:
                if row.id in waiting:
                    yield f"{row.id} of {row.tool} waits to be taken, and has no late result"
                continue
            if row.id in let_go and not row.late:
                yield f"{row.id} of {row.tool} was acknowledged as started, and its result does not wait"
            if row.late and row.id not in waiting and row.id not in taken:
                missing.append(f"the result of {row.id} of {row.tool} neither waits nor was taken")
            if row.id in direct and row.id in (waiting | taken):
                yield f"the result of {row.id} of {row.tool} was returned to its caller, and waits too"
        if not perhaps:  # else a process was killed while it took them
            yield from missing
        for execution_id in waiting - self._kept.executions.keys():
            yield f"{execution_id} waits to be taken, and is not stored"

    # Nothing happens twice

    def _runs(self) -> Iterable[str]:
        for row in self._kept.executions.values():
            begun = self._begun[row.id]
            if begun > 1:
                self._verdict.rerun += 1
                if row.tool not in IDEMPOTENT:
                    yield f"{row.id} of {row.tool} was entered {begun} times"

    def _stopped(self) -> Iterable[str]:
        """A call that was reported as stopped does not begin afterwards."""
        stopped: dict[str, str] = {}
        for fact in self._of("stopped", "begin"):
            if fact["what"] == "stopped":
                stopped[fact["execution"]] = fact["who"]
            elif fact["execution"] in stopped and fact["who"] != stopped[fact["execution"]]:
                row = self._kept.executions.get(fact["execution"])
                if row is not None and row.queue is not None:
                    continue  # a worker may have claimed it in the same moment; it is told while the handler runs
                yield f"{fact['execution']} of {fact['tool']} was reported as stopped, and ran again"

    def _taken(self) -> Iterable[str]:
        taken = [result for fact in self._of("taken") for result in fact["results"]]
        for execution_id, count in Counter(result[0] for result in taken).items():
            if count > 1:
                yield f"the result of {execution_id} was taken {count} times"
            if execution_id in self._kept.row.unconsumed:
                yield f"the result of {execution_id} was taken, and waits again"
        for execution_id, status, value in taken:
            row = self._kept.executions.get(execution_id)
            if row is None or (status, value) != _outcome(row)[:2]:
                yield f"the result of {execution_id} was taken as {status} {value}, and is {row and _outcome(row)}"

    # All other promises are kept

    def _numbers(self) -> Iterable[str]:
        numbers = [line.seq for line in self._kept.lines]
        if numbers != list(range(1, len(numbers) + 1)) or self._kept.row.last_seq != len(numbers):
            yield f"its numbers have gaps or repeats: {len(numbers)} events, the last is {self._kept.row.last_seq}"

    def _boards(self) -> Iterable[str]:
        """The events of each execution are in order, and end with its only terminal event, which matches its row."""
        for row in self._kept.executions.values():
            kinds = [line.kind for line in self._kept.events_of[row.id]]
            if row.kind == "worker":
                if kinds:
                    yield f"a worker's execution {row.id} reported {kinds}"
                continue
            ends = kinds.count("tool_result")
            if kinds[:1] != ["tool_started"] or kinds.count("tool_started") > 1:
                yield f"{row.id} of {row.tool} begins with {kinds[:2]}"
            if row.completed_at is None:
                if ends:
                    yield f"{row.id} of {row.tool} has {ends} results and has not ended"
            elif ends != 1 or kinds[-1] != "tool_result":
                yield f"{row.id} of {row.tool} has {ends} results, and its events are {kinds}"
            else:
                data = self._kept.events_of[row.id][-1].data
                reported = (data["status"], data.get("value"), (data.get("error") or {}).get("category"))
                if reported != _outcome(row):
                    yield f"{row.id} of {row.tool} reported {reported}, and is {_outcome(row)}"
            yield from _disorder(row, self._kept.events_of[row.id])
        for execution_id in self._kept.events_of.keys() - self._kept.executions.keys():
            yield f"there are events of {execution_id}, which is not stored"

    def _honesty(self) -> Iterable[str]:
        """The stored outcome of each execution matches its runs in the log of the witness."""
        unwanted = {fact["execution"] for fact in self._of("cancel")}
        closed = any(self._of("close"))
        for row in self._kept.executions.values():
            status, value, category = _outcome(row)
            begun, ended = self._begun[row.id], self._ended[row.id]
            name = f"{row.id} of {row.tool} ({row.call_id})"
            parent = None if row.parent_id is None else self._kept.executions.get(row.parent_id)
            if status == "succeeded" and row.tool != "choose":
                if not ended:
                    yield f"{name} succeeded, and was never seen to end"
                elif value != self._expected(row):
                    yield f"{name} gave {value}, not {self._expected(row)}"
            if category == "interrupted":
                self._verdict.interrupted += 1
                self._verdict.interrupted_in |= {self._where[row.id]} if begun else set()
                if row.tool in IDEMPOTENT and parent is None:
                    yield f"{name} is idempotent, and was interrupted instead of run again"
                if not begun and parent is None:
                    self._verdict.never_entered += 1
                    if not any(line.kind == "tool_executing" for line in self._kept.events_of[row.id]) and (
                        row.kind == "tool"
                    ):
                        yield f"{name} was interrupted, and never began"
            wanted = unwanted & {row.id, None} or (closed and row.tool == "stream")
            if row.tool in PERSONAL:  # a process that ends stops a handler that has begun
                wanted = wanted or self._where.get(row.id, "") in self._left
            if status == "cancelled" and parent is None and not wanted:
                yield f"{name} was cancelled without a request"
            if category == "timeout" and not closed:
                yield f"{name} timed out, and nothing in it takes so long"
            refused = category == "resource" and row.kind == "worker" and self._left
            if category in ("unknown", "resource", "configuration") and not refused:
                yield f"{name} failed ({category}): {row.error}"
            if begun and category in ("permission", "validation", "not_found"):
                yield f"{name} was refused ({category}), and ran"

    def _requests(self) -> Iterable[str]:
        """Open requests are those of executions that wait; answers are used once, and as they were given."""
        answers = Counter(line.data["request_id"] for line in self._kept.lines if line.kind == "human_answer")
        given = {
            line.data["request_id"]: line.data["answer"] for line in self._kept.lines if line.kind == "human_answer"
        }
        for request_id, count in answers.items():
            if count > 1:
                yield f"the request {request_id} was answered {count} times"
        for fact in self._of("answered"):
            if (said := given.get(fact["request"])) != fact["answer"]:
                yield f"the request {fact['request']} was answered with {fact['answer']}, and {said} is stored"
        for row in self._kept.requests.values():
            execution = self._kept.executions[row.execution_id]
            status, _, category = _outcome(execution)
            name = f"the request {row.id} of {execution.id} ({row.tool}, {status}, {category})"
            answer = given.get(row.id)
            if row.status == "open":
                if execution.completed_at is not None:
                    yield f"{name} is open, and its execution has ended"
                if answer is not None:
                    yield f"{name} is open, and was answered"
            elif row.status == "withdrawn":
                if answer is not None:
                    yield f"{name} was withdrawn, and answered"
            elif answer is None:
                yield f"{name} is {row.status}, without an answer"
            elif execution.completed_at is None:
                yield f"{name} is {row.status}, and its execution never ended"
            elif answer.get("approved") is False:
                if row.status != "refused" or (category != "permission" and status != "cancelled"):
                    yield f"{name} was refused, and is {row.status}"
            elif row.status == "answered":
                if status != "cancelled":
                    yield f"{name} was answered, and the answer was not used"
            elif row.status != "used":
                yield f"{name} is {row.status}"
        asked = Counter(row.execution_id for row in self._kept.requests.values())
        for execution_id, count in asked.items():
            if count > 1:
                yield f"a person was asked {count} times for {execution_id}"

    def _workers(self) -> Iterable[str]:
        """Each request of people is answered once, after it was made."""
        made = {line.data["request_id"]: line.seq for line in self._kept.lines if line.kind == "user_request"}
        answered = Counter(line.data["request_id"] for line in self._kept.lines if line.kind == "user_response")
        when = {line.data["request_id"]: line.seq for line in self._kept.lines if line.kind == "user_response"}
        for request_id, seq in made.items():
            if answered[request_id] != 1 or when[request_id] < seq:
                yield f"the user's request {request_id} has {answered[request_id]} answers"
        for request_id in answered.keys() - made.keys():
            yield f"there is an answer to {request_id}, which was not asked"
        if sum(1 for line in self._kept.lines if line.kind == "user_request") != len(made):
            yield "the same request of a user was posted twice"

    def _is_asked(self, row: ExecutionRow) -> bool:
        request = self._kept.request_of(row.id)
        return row.status == "waiting" and request is not None and request.status == "open"

    def _expected(self, row: ExecutionRow) -> Any:
        arguments = from_json(row.document or b"{}")
        if row.kind == "worker":
            return {"doubled": 2 * arguments["number"]}
        return doubled(arguments["key"], arguments["number"])


def _outcome(row: ExecutionRow) -> tuple[str, Any, str | None]:
    """Return the status, the value and the category of the error of an execution."""
    return (
        row.status,
        None if row.value is None else from_json(row.value),
        None if row.error is None else from_json(row.error)["category"],
    )


def _reported(fact: Fact) -> tuple[str, Any, str | None]:
    return fact["status"], fact["value"], fact["category"]


def _disorder(row: ExecutionRow, lines: list[Line]) -> Iterator[str]:
    """Progress is reported only within an attempt, which begins again after a clean stop of its process."""
    attempt: int | None = None
    for line in lines:
        if line.kind == "tool_executing":
            if attempt not in (None, line.data["attempt"]):
                yield f"{row.id} of {row.tool} began attempt {line.data['attempt']} within attempt {attempt}"
            attempt = line.data["attempt"]
        elif line.kind == "tool_retrying":
            attempt = None
        elif line.kind in ("tool_progress", "tool_partial") and attempt is None:
            yield f"{row.id} of {row.tool} reported {line.kind} outside of an attempt: {[each.kind for each in lines]}"


async def kept_in(store_url: str) -> dict[str, Kept]:
    """Return the contents of a store, by session."""
    store = open_store(store_url)
    await store.open(lambda *_: None)
    try:
        kept: dict[str, Kept] = {}
        for row in await store.sessions(limit=10_000):
            lines: list[Line] = []
            while True:
                page = await store.events(row.id, len(lines), 1_000)
                for number, text in enumerate(page.lines, page.first):
                    event = from_json(text)
                    lines.append(Line(number, event["kind"], event["data"], event_header(text).at))
                if len(page.lines) < 1_000:
                    break
            kept[row.id] = Kept(
                row=row,
                lines=lines,
                executions={each.id: each for each in await store.executions(row.id, limit=1_000_000)},
                requests={each.id: each for each in await store.requests(session_id=row.id, limit=1_000_000)},
            )
        return kept
    finally:
        await store.close()
