"""Roles, parts and order of contents."""

from ...request import Refusal, Request
from .conversation import contents, field


def contents_given(request: Request) -> Refusal | None:
    """A request has contents.

    https://ai.google.dev/api/generate-content
    """
    return None if contents(request) else Refusal("* GenerateContentRequest.contents: contents is not specified\n")


def roles_known(request: Request) -> Refusal | None:
    """Roles are `user` and `model`, and are required unless there is only one content.

    https://github.com/BerriAI/litellm/pull/22046
    """
    given = contents(request)
    for content in given:
        if content.role not in ("user", "model") and not (content.role is None and len(given) == 1):
            return Refusal("Please use a valid role: user, model.")
    return None


def parts_not_empty(request: Request) -> Refusal | None:
    """Every content has parts, and every part has data; an empty text is valid.

    https://github.com/vercel/ai/issues/3775 and https://github.com/54xzh/FLIT/issues/69
    """
    for content in contents(request):
        place = f"* GenerateContentRequest.contents[{content.place}].parts"
        if not content.parts:
            return Refusal(f"{place}: contents.parts must not be empty.\n")
        for position, part in enumerate(content.parts):
            if all(field(part, name) is None for name in DATA):
                message = f"{place}[{position}].data: required oneof field 'data' must have one initialized field\n"
                return Refusal(message)
    return None


DATA = (
    "text",
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)


def user_last(request: Request) -> Refusal | None:
    """The last content is not of the model.

    https://github.com/crewAIInc/crewAI/issues/6972 and https://github.com/anomalyco/opencode/issues/47034
    """
    if contents(request)[-1].role == "model":
        return Refusal("Requests ending with a model turn are not supported.")
    return None
