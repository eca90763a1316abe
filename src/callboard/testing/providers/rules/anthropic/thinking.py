"""Thinking blocks: signatures, positions, and options that exclude them."""

from collections.abc import Iterator

from ...request import Refusal, Request
from ..json_access import as_object
from .conversation import blocks, thinking, turns

THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def thinking_signed(request: Request) -> Iterator[Refusal]:
    """A thinking block has its signature.

    https://platform.claude.com/docs/en/build-with-claude/thinking-tool-workflows
    """
    for block in blocks(request, "thinking"):
        if not block.body.get("signature"):
            yield Refusal(f"{block.place}.thinking.signature: Field required")


def thinking_not_last(request: Request) -> Iterator[Refusal]:
    """An assistant message does not end with a thinking block.

    https://github.com/tailcallhq/forgecode/issues/2107
    """
    for turn in turns(request):
        if turn.role == "assistant" and turn.blocks and turn.blocks[-1].kind in THOUGHTS:
            found = turn.blocks[-1].kind
            yield Refusal(f"messages.{turn.message}: The final block in an assistant message cannot be `{found}`.")


def thinking_leads(request: Request) -> Iterator[Refusal]:
    """An assistant message with thinking blocks begins with one.

    https://github.com/anthropics/claude-code/issues/20705
    """
    for turn in turns(request):
        kinds = [block.kind for block in turn.blocks]
        if turn.role == "assistant" and THOUGHTS.intersection(kinds) and kinds[0] not in THOUGHTS:
            yield Refusal(
                f"messages.{turn.message}.content.0: If an assistant message contains any thinking blocks, the first "
                f"block must be `thinking` or `redacted_thinking`. Found `{kinds[0]}`."
            )


def thinking_first(request: Request) -> Iterator[Refusal]:
    """With manual thinking, an assistant turn that continues after a result begins with a thinking block.

    The turn begins after the last message in which the user says something. Adaptive thinking asks for no such thing.
    https://github.com/pydantic/pydantic-ai/issues/2075 and
    https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
    """
    given = turns(request)
    if thinking(request) != "enabled" or not given[-1].answers:
        return
    begin = max((at for at, turn in enumerate(given) if turn.role == "user" and not turn.answers), default=-1) + 1
    found = next(turn for turn in given[begin:] if turn.role == "assistant").blocks[0]
    if found.kind not in THOUGHTS:
        yield Refusal(
            f"{found.place}.type: Expected `thinking` or `redacted_thinking`, but found `{found.kind}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
            "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from "
            "previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )


def thinking_leaves_the_choice(request: Request) -> Iterator[Refusal]:
    """With manual thinking, the model cannot be forced to call a tool.

    https://github.com/run-llama/llama_index/issues/19641
    """
    if thinking(request) == "enabled" and as_object(request.body.get("tool_choice")).get("type") in ("any", "tool"):
        yield Refusal("Thinking may not be enabled when tool_choice forces tool use.")


def thinking_below_the_limit(request: Request) -> Iterator[Refusal]:
    """The thinking budget is below `max_tokens`, unless thinking is interleaved with calls.

    https://platform.claude.com/docs/en/build-with-claude/extended-thinking
    """
    budget = as_object(request.body.get("thinking")).get("budget_tokens")
    interleaved = "interleaved-thinking" in request.headers.get("anthropic-beta", "")
    if isinstance(budget, int) and not interleaved and budget >= request.body["max_tokens"]:
        yield Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")
