"""Calls and their responses: order, number and signatures."""

from ...request import Refusal, Request
from .conversation import Content, contents, field, generation

SIGNED_SINCE = 3


def calls_after_user(request: Request) -> Refusal | None:
    """A call comes directly after a user content or after responses, never after another model content.

    https://github.com/google-gemini/gemini-cli/issues/11814 and https://github.com/continuedev/continue/issues/11164
    """
    given = contents(request)
    for content in given:
        if content.calls and (content.place == 0 or given[content.place - 1].role == "model"):
            return Refusal(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
    return None


def responses_after_calls(request: Request) -> Refusal | None:
    """Responses come directly after the calls.

    https://github.com/langchain-ai/langchain/issues/27799
    """
    given = contents(request)
    for content in given:
        if content.responses and (content.place == 0 or not given[content.place - 1].calls):
            return Refusal("Please ensure that function response turn comes immediately after a function call turn.")
    return None


def one_response_per_call(request: Request) -> Refusal | None:
    """There are as many responses as calls.

    https://github.com/google-gemini/gemini-cli/issues/4217
    """
    given = contents(request)
    for content in given[:-1]:
        if content.calls and len(given[content.place + 1].responses) != len(content.calls):
            return Refusal(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
    return None


def calls_signed(request: Request) -> Refusal | None:
    """From Gemini 3 on, the first call of each step of the current turn has a signature, real or `skip_thought_…`.

    The turn begins with the last thing that the user said.
    https://ai.google.dev/gemini-api/docs/thought-signatures and https://github.com/nanbingxyz/5ire/issues/405
    """
    if generation(request) < SIGNED_SINCE or "image" in request.model:
        return None
    given = contents(request)
    begin = max((content.place for content in given if _said_by_user(content)), default=0)
    for content in given[begin:]:
        first = next((part for part in content.parts if field(part, "functionCall") is not None), None)
        if first is not None and not field(first, "thoughtSignature"):
            called = f"function call `default_api:{content.calls[0].get('name')}` , position {content.place + 1}"
            return Refusal(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, {called}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
    return None


def _said_by_user(content: Content) -> bool:
    return content.role == "user" and not content.responses
