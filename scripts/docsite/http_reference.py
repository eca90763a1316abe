"""The reference of the HTTP API, from its OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

from callboard.server.app import ENDPOINTS
from callboard.server.openapi import openapi

from .markdown import GENERATED, code, table

JSON = "application/json"

OTHER_ROUTES = {
    "/openapi.json": "The OpenAPI document that this page is generated from.",
    "/ag-ui": "Runs for AG-UI clients: see [AG-UI](../ag-ui.md).",
    "/mcp": "The tools for MCP clients: see [MCP](../mcp.md).",
    "/chat.js": "The element `<callboard-chat>` for your pages: see [embed the chat](../recipes/embed-the-chat.md).",
    "/ag-ui-agent.js": "The element and tools for your pages: see [tools in the browser](../web.md).",
    "/": "The page for people, with its scripts and styles: see [the page](../server.md#the-page).",
}
"""Routes outside of the OpenAPI document."""

Document = Mapping[str, Any]


def page() -> str:
    """Make the page."""
    document = openapi(ENDPOINTS)
    text = f"{GENERATED}# HTTP API\n\n"
    text += (
        "A POST names its session in the body, and a GET in the query. Every error is a problem document with a stable "
        "`code`: see [errors](errors.md#http-problems). [The server](../server.md) explains streams, paging, limits "
        "and repeated requests.\n\n"
    )
    text += table(
        ("operation", "what it does"),
        (
            (f"[`{method.upper()} {path}`](#{_anchor(operation)})", operation["summary"])
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ),
    )
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            text += "".join(_operation(path, method, operation))
    text += "## Other routes\n\n"
    text += table(("route", "what it serves"), ((code(path), what) for path, what in OTHER_ROUTES.items()))
    text += "## Models\n\n"
    for name, schema in sorted(document["components"]["schemas"].items()):
        text += f"### {name} {{ #model-{name.lower()} }}\n\n" + "".join(_model(schema))
    return text


def _anchor(operation: Document) -> str:
    return f"operation-{operation['operationId']}"


def _operation(path: str, method: str, operation: Document) -> Iterator[str]:
    yield f"## `{method.upper()} {path}` {{ #{_anchor(operation)} }}\n\n{operation['summary']}.\n\n"
    if parameters := operation["parameters"]:
        rows = [
            (code(each["name"]), each["in"], _type(each["schema"]), _needed(each["required"]), _meaning(each))
            for each in parameters
        ]
        yield table(("parameter", "in", "type", "", "meaning"), rows)
    if body := operation.get("requestBody"):
        yield f"Body: {_type(body['content'][JSON]['schema'])}\n\n"
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            ((media_type, content),) = response["content"].items()
            yield f"Response: {status}, {_type(content['schema'])}"
            yield "\n\n" if media_type == JSON else f" (`{media_type}`)\n\n"
    problems = [code(status) for status in operation["responses"] if not status.startswith("2")]
    yield f"Problems: {', '.join(problems)}\n\n"


def _model(schema: Document) -> Iterator[str]:
    if text := schema.get("description"):
        yield f"{text}\n\n"
    if values := schema.get("enum"):
        yield f"One of {', '.join(code(value) for value in values)}.\n\n"
    required = schema.get("required", ())
    if properties := schema.get("properties"):
        rows = [
            (code(name), _type(field), _needed(name in required), _meaning({"schema": field}))
            for name, field in properties.items()
        ]
        yield table(("field", "type", "", "meaning"), rows)


def _needed(required: bool) -> str:
    return "required" if required else ""


def _meaning(parameter: Document) -> str:
    return str(parameter.get("description") or parameter["schema"].get("description", ""))


def _type(schema: Document) -> str:
    """Write a type, with links to models."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#model-{name.lower()})"
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(each) for each in options)
    if "const" in schema:
        return code(schema["const"])
    if values := schema.get("enum"):
        return " or ".join(code(value) for value in values)
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema.get('items', {}))}"
        case "object" if isinstance(schema.get("additionalProperties"), Mapping):
            return f"object of {_type(schema['additionalProperties'])}"
        case None:
            return "any JSON"
        case kind:
            return f"{kind} ({schema['format']})" if "format" in schema else str(kind)
