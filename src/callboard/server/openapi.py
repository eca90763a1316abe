"""The OpenAPI 3.1 document, generated from the endpoints and their models."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

import callboard

from ..protocols.problem import MEDIA_TYPE
from ..sessions.ids import MAX_ID
from .endpoint import JSON, Endpoint, Nothing
from .models import ProblemDocument

_CONVERTER = re.compile(r":\w+}")
_NAME = re.compile(r"{(\w+)")
_REF = "#/components/schemas/{model}"
_TITLES = {
    400: "Not understood",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    408: "Too slow",
    409: "Conflict with the current state",
    413: "Too large",
    415: "Not JSON",
    422: "Not valid",
    429: "Too many requests",
    503: "Temporarily not available",
}
_ALWAYS = (401, 403, 422, 429, 503)
_WITH_BODY = (400, 408, 413, 415)


def openapi(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Generate the document of these endpoints."""
    known = list(endpoints)
    references, definitions = _schemas(known)
    paths: dict[str, dict[str, Any]] = {}
    for each in known:
        path = _CONVERTER.sub("}", each.path)
        paths.setdefault(path, {})[each.method.lower()] = _operation(each, references)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Callboard",
            "version": callboard.__version__,
            "description": "A runtime for the tools of AI agents.",
        },
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"bearer": []}],
    }


def _schemas(endpoints: list[Endpoint]) -> tuple[dict[type[BaseModel], dict[str, Any]], dict[str, Any]]:
    inputs = {each.body for each in endpoints if each.body is not Nothing}
    outputs = {each.answer for each in endpoints if each.answer is not None} | {ProblemDocument}
    ordered = sorted(
        [(model, "validation") for model in inputs] + [(model, "serialization") for model in outputs], key=str
    )
    made, whole = models_json_schema(cast("list[Any]", ordered), ref_template=_REF)
    return {cast("type[BaseModel]", model): schema for (model, _), schema in made.items()}, whole.get("$defs", {})


def _operation(each: Endpoint, references: dict[type[BaseModel], dict[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": each.handler.__name__,
        "summary": each.summary,
        "parameters": [*_path_parameters(each), *_query_parameters(each), *_header_parameters(each)],
        "responses": dict(_responses(each, references)),
    }
    if each.body is not Nothing:
        needed = any(field.is_required() for field in each.body.model_fields.values())
        made["requestBody"] = {"required": needed, "content": {JSON: {"schema": references[each.body]}}}
    return made


def _path_parameters(each: Endpoint) -> Iterator[dict[str, Any]]:
    for name in _NAME.findall(each.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _header_parameters(each: Endpoint) -> Iterator[dict[str, Any]]:
    if each.method == "POST":
        schema = {"type": "string", "minLength": 1, "maxLength": MAX_ID}
        text = "A request with the same key is run once; a repeat gets the same response"
        yield {"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema, "description": text}


def _query_parameters(each: Endpoint) -> Iterator[dict[str, Any]]:
    schema = each.query.model_json_schema()
    for name, properties in schema.get("properties", {}).items():
        required = name in schema.get("required", ())
        kept = {key: value for key, value in properties.items() if key not in ("title", "default")}
        yield {"name": name, "in": "query", "required": required, "schema": _without_null(kept)}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null from a schema: an optional query parameter is omitted instead."""
    options = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(options) != 1:
        return schema
    return {**options[0], **{key: value for key, value in schema.items() if key != "anyOf"}}


def _responses(
    each: Endpoint, references: dict[type[BaseModel], dict[str, Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    schema = {"type": "string"} if each.answer is None else references[each.answer]
    yield str(each.status), {"description": "Done", "content": {each.media_type: {"schema": schema}}}
    problem = {MEDIA_TYPE: {"schema": references[ProblemDocument]}}
    for status in sorted({*each.problems, *_ALWAYS, *(_WITH_BODY if each.body is not Nothing else ())}):
        yield str(status), {"description": _TITLES[status], "content": problem}
