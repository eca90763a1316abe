"""A model without a provider, for one story: it makes the calls that a language model would make.

It sets the plan, executes it, reports a failed group, tries again when the user asks for it, and tells the balances.
"""

import json
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

Call = tuple[str, dict[str, Any]]

HELP = (
    "I am a script, not a language model, and know one story. Write: "
    "Deploy an ERC-20 called TEST, send 100 to Bob, and tell me the balances."
)


def scripted_model(groups: list[dict[str, Any]], names: dict[str, str]) -> FunctionModel:
    """Make the model. `groups` are its plan; `names` are the names of accounts, by address in lower case."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        text, calls = _answer(messages, groups, names)
        for word in re.findall(r"\S+\s*", text):
            yield word
        for number, (tool, arguments) in enumerate(calls):
            call_id = f"scripted_{len(messages)}_{number}"
            yield {number: DeltaToolCall(tool, json.dumps(arguments), tool_call_id=call_id)}

    return FunctionModel(stream_function=respond, model_name="scripted")


def _answer(
    messages: Sequence[ModelMessage], groups: list[dict[str, Any]], names: dict[str, str]
) -> tuple[str, list[Call]]:
    """Respond to the newest message: a text, and the calls to make."""
    texts: list[str] = []
    calls: list[Call] = []
    for part in messages[-1].parts:
        if isinstance(part, UserPromptPart):
            request, plan_id = str(part.content).lower(), _plan_id(messages)
            if "again" in request and plan_id is not None:
                calls.append(("execute_plan", {"plan_id": plan_id}))
            elif "deploy" in request:
                calls.append(("set_execution_plan", {"groups": groups}))
            else:
                texts.append(HELP)
        elif isinstance(part, ToolReturnPart):
            result = _value(part.content)
            if part.outcome != "success":
                texts.append(f"{part.tool_name} failed: {result.get('message', result)}")
            elif part.tool_name == "set_execution_plan":
                calls.append(("execute_plan", {"plan_id": result["plan_id"]}))
            elif part.tool_name == "execute_plan":
                texts.append("The plan is running. Your wallet will ask you to sign each transaction.")
            elif part.tool_name == "task_result" and "groups" in result:
                texts.append(_told(result["groups"], names))
    return " ".join(texts), calls


def _told(groups: list[dict[str, Any]], names: dict[str, str]) -> str:
    """Tell the outcome of a plan."""
    if failed := [group for group in groups if group["state"] == "failed"]:
        why = " ".join(f"“{group['description']}” failed: {group['error']}" for group in failed)
        return f"{why} Shall I try again? What is done is not repeated."
    balances = next(group["results"] for group in groups if group["name"] == "balances")
    lines = [
        f"- {names.get(each['holder_address'].lower(), each['holder_address'])}: "
        f"{each['balance']['decimal']} {each['balance']['symbol']}"
        for each in balances
    ]
    return "\n".join([f"The token is at {balances[0]['token_address']}. The balances are:", "", *lines])


def _plan_id(messages: Sequence[ModelMessage]) -> str | None:
    """Return the id of the newest plan in the conversation."""
    for message in reversed(messages):
        for part in message.parts:
            if isinstance(part, ToolReturnPart) and part.tool_name == "set_execution_plan":
                return _value(part.content).get("plan_id")
    return None


def _value(content: Any) -> dict[str, Any]:
    """Read a result, which is a value or JSON text."""
    value: Any = json.loads(content) if isinstance(content, str) and content.startswith("{") else content
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"message": value}
