"""Calls and their results: one result per call, in the next message."""

import re
from collections.abc import Iterator

from ...request import Refusal, Request
from .conversation import blocks, messages, turns

ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME_LIMIT = 200
ID_FIELD = {"tool_use": "id", "tool_result": "tool_use_id"}
SPEAKER = {"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant", "tool_result": "user"}


def ids_well_formed(request: Request) -> Iterator[Refusal]:
    """The id of a call is made of letters, digits, `_` and `-`.

    https://github.com/HKUDS/nanobot/pull/4356
    """
    for block in blocks(request, *ID_FIELD):
        name = ID_FIELD[block.kind]
        if not ID.fullmatch(str(block.body.get(name, ""))):
            yield Refusal(f"{block.place}.{block.kind}.{name}: String should match pattern '^[a-zA-Z0-9_-]+$'")


def calls_by_the_assistant(request: Request) -> Iterator[Refusal]:
    """Calls and thinking are in assistant messages, results in user messages.

    https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
    """
    for block in blocks(request, *SPEAKER):
        speaker = SPEAKER[block.kind]
        if messages(request)[block.message].get("role") != speaker:
            yield Refusal(f"{block.place}: `{block.kind}` blocks can only be in `{speaker}` messages")


def arguments_are_objects(request: Request) -> Iterator[Refusal]:
    """The arguments of a call are an object, not a string.

    https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
    """
    for block in blocks(request, "tool_use"):
        if not isinstance(block.body.get("input"), dict):
            yield Refusal(f"{block.place}.tool_use.input: Input should be an object")


def names_in_history_short(request: Request) -> Iterator[Refusal]:
    """The name in a call has 1 to 200 characters.

    https://github.com/anthropics/claude-code/issues/2673 and https://github.com/anthropics/claude-code/issues/23681
    """
    for block in blocks(request, "tool_use"):
        name = str(block.body.get("name", ""))
        if not name:
            yield Refusal(f"{block.place}.tool_use.name: String should have at least 1 character")
        if len(name) > NAME_LIMIT:
            yield Refusal(f"{block.place}.tool_use.name: String should have at most {NAME_LIMIT} characters")


def ids_unique(request: Request) -> Iterator[Refusal]:
    """No two calls of the conversation have the same id.

    https://github.com/anthropics/claude-code/issues/20901
    """
    seen: set[str] = set()
    for block in blocks(request, "tool_use"):
        if block.body["id"] in seen:
            yield Refusal(f"{block.place}: `tool_use` ids must be unique")
        seen.add(block.body["id"])


def one_result_per_call(request: Request) -> Iterator[Refusal]:
    """No call has two results.

    https://github.com/BerriAI/litellm/pull/17632
    """
    seen: set[str] = set()
    for block in blocks(request, "tool_result"):
        if (call := block.body["tool_use_id"]) in seen:
            yield Refusal(
                f"{block.place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
                f"{call}"
            )
        seen.add(call)


def results_follow_calls(request: Request) -> Iterator[Refusal]:
    """Every call has its result in the next message, before other content.

    https://github.com/anthropics/claude-code/issues/8210 and
    https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
    """
    given = turns(request)
    for index, turn in enumerate(given):
        answers = given[index + 1].answers if index + 1 < len(given) else []
        if missing := [call for call in turn.calls if call not in answers]:
            yield Refusal(
                f"messages.{turn.message}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )


def results_have_calls(request: Request) -> Iterator[Refusal]:
    """Every result has its call in the previous message.

    https://github.com/anthropics/claude-code/issues/13460
    """
    calls: list[str] = []
    for turn in turns(request):
        for block in turn.blocks:
            if block.kind == "tool_result" and block.body["tool_use_id"] not in calls:
                yield Refusal(
                    f"{block.place}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{block.body['tool_use_id']}. Each `tool_result` block must have a corresponding `tool_use` block "
                    "in the previous message."
                )
        calls = turn.calls
