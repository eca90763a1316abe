"""The request of an operation: its address, headers and body, from arguments. No I/O."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlencode

from callboard import ToolError

from .document import Document, Operation, Parameter


class Request(NamedTuple):
    """A request to send."""

    url: str
    headers: dict[str, str]
    body: str | None


class Credentials:
    """The secrets of an API, by the names of its security schemes. The model never sees them."""

    def __init__(self, document: Document, secrets: Mapping[str, str]) -> None:
        self._document = document
        self._secrets = secrets

    def chosen(self, operation: Operation) -> tuple[str, ...] | None:
        """The first alternative whose schemes all have a secret, or None if there is none.

        Where a call without credentials is an alternative too, it is the last one.
        """
        if not operation.security:
            return ()
        possible = [each for each in operation.security if self._secrets.keys() >= set(each)]
        return next(filter(None, possible), possible[0] if possible else None)

    def apply(self, scheme: str, headers: dict[str, str], query: list[tuple[str, str]]) -> None:
        """Add the secret of a scheme to a request."""
        fields, secret = self._document.security_scheme(scheme), self._secrets[scheme]
        match fields.get("type"), fields.get("in"):
            case "apiKey", "query":
                query.append((str(fields["name"]), secret))
            case "apiKey", "cookie":
                headers["cookie"] = f"{fields['name']}={secret}"
            case "apiKey", _:
                headers[str(fields["name"]).lower()] = secret
            case "http", _ if str(fields.get("scheme")).lower() == "basic":
                headers["authorization"] = f"Basic {b64encode(secret.encode()).decode()}"
            case _:
                headers["authorization"] = f"Bearer {secret}"


def make_request(base: str, operation: Operation, arguments: Mapping[str, Any], credentials: Credentials) -> Request:
    """Make the request of an operation. Raises `ToolError`."""
    path, query, headers = operation.path, list[tuple[str, str]](), {"accept": "application/json, */*;q=0.5"}
    for parameter in operation.parameters:
        if (value := arguments.get(parameter.argument)) is None:
            continue
        if parameter.style == "json":
            value = json.dumps(value)
        match parameter.location:
            case "path":
                path = path.replace(f"{{{parameter.name}}}", _segment(parameter, value))
            case "query":
                query += _query(parameter, value)
            case "header":
                headers[parameter.name.lower()] = _joined(value)
    schemes = credentials.chosen(operation)
    if schemes is None:
        wanted = " or ".join("+".join(each) for each in operation.security)
        raise ToolError(
            "The service needs credentials that are not configured.",
            category="configuration",
            report=f"{operation.method} {operation.path} needs a secret for {wanted}",
        )
    for scheme in schemes:
        credentials.apply(scheme, headers, query)
    body = None
    if operation.body is not None and (content := arguments.get("body")) is not None:
        headers["content-type"] = operation.body.media_type
        is_form = operation.body.media_type.startswith("application/x-www-form-urlencoded")
        body = urlencode(_form(content)) if is_form else json.dumps(content)
    text = urlencode(query)
    return Request(f"{base}{path}?{text}" if text else f"{base}{path}", headers, body)


def _segment(parameter: Parameter, value: Any) -> str:
    text = _joined(value)
    if text in ("", ".", ".."):  # these would lead to another path
        raise ToolError(f"{parameter.argument} must not be {text!r}.", category="validation")
    return quote(text, safe=",")


def _query(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    name = parameter.name
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if parameter.style == "deepObject":
            return [(f"{name}[{key}]", _text(each)) for key, each in fields.items()]
        if parameter.explodes:
            return [(key, _text(each)) for key, each in fields.items()]
    if isinstance(value, list) and parameter.explodes:
        return [(name, _text(each)) for each in cast("list[Any]", value)]
    separator = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(parameter.style, ",")
    return [(name, _joined(value, separator))]


def _form(content: Any) -> list[tuple[str, str]]:
    if not isinstance(content, dict):
        raise ToolError("The body of this operation must be an object.", category="validation")
    pairs: list[tuple[str, str]] = []
    for name, value in cast("dict[str, Any]", content).items():
        several = cast("list[Any]", value) if isinstance(value, list) else [value]
        pairs += [(name, _text(each)) for each in several]
    return pairs


def _joined(value: Any, separator: str = ",") -> str:
    if isinstance(value, list):
        return separator.join(map(_text, cast("list[Any]", value)))
    if isinstance(value, dict):
        return separator.join(f"{key},{_text(each)}" for key, each in cast("dict[str, Any]", value).items())
    return _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
