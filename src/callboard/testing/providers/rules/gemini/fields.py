"""Required fields and unknown fields."""

from collections.abc import Iterable, Iterator

from ...request import Body, Refusal, Request
from .conversation import both_spellings, contents, declarations

BODY = both_spellings(
    "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent labels serviceTier "
    "store model modelArmorConfig"
)
PART = both_spellings(
    "text thought thoughtSignature functionCall functionResponse inlineData fileData executableCode "
    "codeExecutionResult videoMetadata toolCall toolResponse mediaResolution partMetadata"
)
DECLARATION = both_spellings("name description parameters parametersJsonSchema response responseJsonSchema behavior")


def key_named(request: Request) -> Refusal | None:
    """A request has a key.

    https://ai.google.dev/gemini-api/docs/api-key
    """
    if "x-goog-api-key" in request.headers or "authorization" in request.headers:
        return None
    message = (
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other "
        "form of API consumer identity to call this API."
    )
    return Refusal(message, 403)


def fields_known(request: Request) -> Refusal | None:
    """A request has no fields that the API does not know.

    https://github.com/decolua/9router/issues/1036
    """
    for place, given, known in _objects(request):
        for name in given:
            if name not in known:
                return unknown_name(name, place)
    return None


def unknown_name(name: str, place: str) -> Refusal:
    """Make the refusal of an unknown field, in the wording of the service."""
    at = f" at '{place}'" if place else ""
    return Refusal(f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.')


def _objects(request: Request) -> Iterator[tuple[str, Body, Iterable[str]]]:
    """Yield the objects of a request whose fields are known, with their path."""
    yield "", request.body, BODY
    for content in contents(request):
        for position, part in enumerate(content.parts):
            yield f"contents[{content.place}].parts[{position}]", part, PART
    for place, declaration in declarations(request):
        yield place, declaration, DECLARATION
