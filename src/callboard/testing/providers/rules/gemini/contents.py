"""Who says something, that it is something, and who is heard last."""

from ...request import Refusal, Request
from .conversation import contents, field


def contents_given(request: Request) -> Refusal | None:
    """A request has contents.

    https://ai.google.dev/api/generate-content
    """
    return None if contents(request) else Refusal("* GenerateContentRequest.contents: contents is not specified\n")


def roles_known(request: Request) -> Refusal | None:
    """Only `user` and `model` speak, and each says that it does, unless it says the only thing.

    https://github.com/BerriAI/litellm/pull/22046
    """
    given = contents(request)
    for content in given:
        if content.role not in ("user", "model") and not (content.role is None and len(given) == 1):
            return Refusal("Please use a valid role: user, model.")
    return None


def parts_not_empty(request: Request) -> Refusal | None:
    """Every content has parts, and every part something in it; an empty text is something.

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
    """The model does not speak last.

    https://github.com/crewAIInc/crewAI/issues/6972 and https://github.com/anomalyco/opencode/issues/47034
    """
    if contents(request)[-1].role == "model":
        return Refusal("Requests ending with a model turn are not supported.")
    return None
