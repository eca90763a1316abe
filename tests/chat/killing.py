"""A conversation in a process that is killed at its n-th step, and in a second process that continues it.

As a script: `python -m tests.chat.killing STORE FOLDER FIRST STEP`. For n = FIRST, FIRST + STEP, … it forks a process
that talks to a model and is killed with SIGKILL at its n-th step, and then a process that starts again on the same
store. It prints the outcome as a line of JSON, and stops when a process ends before its n-th step. Steps are before and
after every commit, before and after each piece of the model's text, and before and after each run of a tool.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from callboard import Runtime, Session, ToolContext, tool
from callboard.adapters.stores.sql import SqlStore
from callboard.chat.conversation import Conversation
from callboard.chat.transcript import Entry, Input, LateResult
from callboard.sessions.conversation_scope import ConversationScope
from callboard.sessions.session import live_session
from callboard.storage.change import Change
from callboard.storage.errors import Conflict
from tests.chat.pairing import problems, render

witness = Path("unset")
kill_at = 0
steps = 0


def step() -> None:
    """Count a step. At the n-th one, this process kills itself."""
    global steps
    steps += 1
    if steps == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)


def ran(name: str) -> None:
    """Record a run of a tool in a file that survives a crash."""
    step()
    with open(witness, "a") as file:
        file.write(f"{name}\n")
    step()


@tool
async def charge() -> str:
    """Charge a card, which must not happen twice."""
    ran("charge")
    return "charged"


@tool(idempotent=True)
async def measure() -> str:
    """Measure, which is safe to repeat."""
    ran("measure")
    return "measured"


@tool(mode="background", idempotent=True)
async def index(ctx: ToolContext) -> str:
    """Index everything."""
    ran("index")
    await ctx.progress("indexing", 0.5)
    return "indexed"


@tool(mode="human")
async def pay() -> str:
    """Pay: once, and only after approval."""
    ran("pay")
    return "paid"


async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """Respond as a pure function of the messages."""
    assert problems(messages) == []
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    prompts = [str(part.content) for part in last.parts if isinstance(part, UserPromptPart)]
    results = [part.tool_name for part in last.parts if isinstance(part, ToolReturnPart)]
    calls = [name for prompt in prompts for name in {"work": ["charge", "measure", "index"], "pay": ["pay"]}[prompt]]
    step()
    if results:
        yield f"Told of {', '.join(sorted(results))}. "
        step()
    for number, name in enumerate(calls):
        yield {number: DeltaToolCall(name, "{}", tool_call_id=f"c{len(messages)}_{number}")}
        step()


class SteppingStore:
    """Counts a step before and after every commit."""

    def __init__(self) -> None:
        self._commit = SqlStore.commit

    def install(self) -> None:
        original = self._commit

        async def commit(self: SqlStore, changes: Sequence[Change]) -> list[int | Conflict]:
            step()
            written = await original(self, changes)
            step()
            return written

        SqlStore.commit = commit


async def reported(session: Session, tool_name: str) -> None:
    """Return when the model has reported a tool's result. Meanwhile all requests are approved."""
    while True:
        messages = await session.messages()
        results = {each["tool"]: each["content"] for each in messages if each["role"] == "tool"}
        result = results.get(tool_name)
        late = [str(entry.content) for entry in await entries_of(session) if isinstance(entry, LateResult)]
        ended = result is not None and not (isinstance(result, dict) and "status" in result)
        if (
            (ended or any(tool_name[:2] in each for each in late))
            and messages[-1]["role"] == "assistant"
            and not session.is_processing
        ):
            return
        for request in await session.requests():
            await session.answer(request.id, {"approved": True})
        await asyncio.sleep(0.01)


async def entries_of(session: Session) -> Sequence[Entry]:
    conversation = live_session(session).current_conversation
    assert isinstance(conversation, Conversation)
    entries, _ = await conversation.entries()
    return tuple(entries)


async def written(session: Session, text: str) -> bool:
    return any(event.data["text"] == text for event in await inputs(session))


async def inputs(session: Session) -> list[Any]:
    _, events = await ConversationScope(live_session(session)).written_after(0)
    return events


async def talk(store: str, session_id: str) -> dict[str, Any]:
    """Repeat the inputs that were not accepted, as a user would after a disconnect."""
    model = FunctionModel(stream_function=respond, model_name="deterministic")
    async with Runtime([charge, measure, index, pay], model=model, store=store) as runtime, asyncio.timeout(60):
        session = await runtime.open(session_id, "u")
        if not await written(session, "work"):
            await session.post({"kind": "user_input", "text": "work"})
        await reported(session, "index")
        if not await written(session, "pay"):
            await session.post({"kind": "user_input", "text": "pay"})
        await reported(session, "pay")
        entries = await entries_of(session)
        return {
            "problems": [each for length in range(len(entries)) for each in problems(render(entries[:length]))],
            "inputs": [entry.text for entry in entries if isinstance(entry, Input)],
            "late": [entry.content for entry in entries if isinstance(entry, LateResult)],
            "results": {
                message["tool"]: message["content"] for message in await session.messages() if message["role"] == "tool"
            },
            "said": [message["text"] for message in await session.messages() if message["role"] == "assistant"],
            "history": [[record.tool, record.status.value] for record in await session.history()],
            "steps": steps,
            "pending": session.has_pending_work or len(await session.requests()) > 0,
        }


def in_a_process(store: str, session_id: str, n: int, report: Path) -> int:
    """Run the conversation in a process that is killed at its n-th step. Returns the exit status."""
    global kill_at
    sys.stdout.flush()
    if (pid := os.fork()) == 0:
        kill_at = n
        try:
            report.write_text(json.dumps(asyncio.run(talk(store, session_id))))
            os._exit(0)
        except BaseException as error:
            report.write_text(json.dumps({"error": repr(error)}))
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(store: str, folder: Path, first: int, stride: int) -> None:
    global witness
    SteppingStore().install()
    n = first
    while True:
        witness, report = folder / f"runs-{n}", folder / f"report-{n}"
        witness.touch()
        ended = in_a_process(store, f"s{n}", n, report)
        killed = ended == -signal.SIGKILL
        again = in_a_process(store, f"s{n}", 0, report) if killed else ended
        found = json.loads(report.read_text())
        line = {"n": n, "killed": killed, "exit": again, "runs": witness.read_text().split(), **found}
        sys.stdout.write(json.dumps(line) + "\n")
        if not killed:
            return
        n += stride


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
