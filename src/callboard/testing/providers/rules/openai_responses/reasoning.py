"""Reasoning and the item that followed it are sent together.

Both rules apply only if the service stores responses. A live test with `store: false` saw neither of them
(https://github.com/jin-bo/agentao/pull/321).
"""

from ...request import Refusal, Request
from .conversation import items, stored

SAID = frozenset({"message", "function_call", "reasoning"})


def reasoning_followed(request: Request) -> Refusal | None:
    """Reasoning is followed by a message or a call of the model.

    https://github.com/openai/openai-node/issues/1567 and https://github.com/vercel/ai/issues/7099
    """
    given = items(request)
    for item in given if stored(request) else ():
        if item.kind != "reasoning":
            continue
        following = given[item.position + 1] if item.position + 1 < len(given) else None
        if following and following.kind in SAID and following.body.get("role", "assistant") == "assistant":
            continue
        message = f"Item '{item.body.get('id')}' of type 'reasoning' was provided without its required following item."
        return Refusal(message, param="input")
    return None


def reasoning_kept(request: Request) -> Refusal | None:
    """An item that followed reasoning is not sent without it, if it has an id.

    https://github.com/omnigent-ai/omnigent/issues/5066 and https://github.com/pydantic/pydantic-ai/pull/2882
    """
    given = items(request)
    ids = {item.body.get("id") for item in given}
    for item in given if stored(request) else ():
        needed = request.remembered.get(str(item.body.get("id")))
        if needed is not None and needed not in ids:
            return Refusal(
                f"Item '{item.body['id']}' of type '{item.kind}' was provided without its required 'reasoning' item: "
                f"'{needed}'.",
                param="input",
            )
    return None
