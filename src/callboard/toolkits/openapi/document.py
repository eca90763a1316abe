"""An OpenAPI document (3.0 or 3.1): its operations, with schemas that stand on their own. No I/O."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import unquote

from callboard import RegistrationError

Fields = Mapping[str, Any]
Location = Literal["path", "query", "header"]

METHODS = ("get", "head", "post", "put", "patch", "delete")
JSON_TYPES = ("application/json", "application/x-www-form-urlencoded")
MAX_REFERENCES = 100
"""References that lead from one to the next."""
REFUSED_HEADERS = frozenset({"accept", "content-type", "authorization", "cookie", "host"})
"""Header parameters that OpenAPI says to ignore, and those that a model must not set."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation."""

    argument: str
    """Its name among the arguments of the tool."""
    name: str
    location: Location
    is_required: bool
    style: str
    """The style of the document, or `json` for a value that is sent as JSON."""
    explodes: bool
    schema: Fields


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an operation."""

    media_type: str
    is_required: bool
    schema: Fields


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API: one tool."""

    name: str
    method: str
    path: str
    description: str
    tags: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    body: Body | None
    security: tuple[tuple[str, ...], ...]
    """Alternatives, each a list of security schemes that are needed together. Empty if none is needed."""
    input_schema: dict[str, Any]
    server: str | None
    """A server of its own, in place of the document's."""


class Document:
    """A document that was read. Raises `RegistrationError` if it is none."""

    def __init__(self, source: Fields | str | bytes) -> None:
        self.fields = _parse(source)
        version = str(self.fields.get("openapi", ""))
        if not version.startswith(("3.0", "3.1")):
            found = f"OpenAPI {version}" if version else f"Swagger {self.fields.get('swagger', 'of no version')}"
            raise RegistrationError(f"The document is {found}; OpenAPI 3.0 and 3.1 can be used. Convert it first.")
        self._is_old = version.startswith("3.0")
        self._names: set[str] = set()
        self._definitions: dict[str, str] = {}
        """The names of definitions, by the references that lead to them."""

    @property
    def title(self) -> str:
        """The name of the API."""
        return str(_fields(self.fields.get("info")).get("title", "API"))

    @property
    def server(self) -> str | None:
        """The first server."""
        return _server(self.fields)

    def security_scheme(self, name: str) -> Fields:
        """A security scheme, or no fields if it is not defined."""
        schemes = _fields(_fields(self.fields.get("components")).get("securitySchemes"))
        return _fields(self._resolve(schemes.get(name, {})))

    def operations(self, skipped: dict[str, str]) -> Iterator[Operation]:
        """Yield the operations. One that cannot be read is added to `skipped`, with the reason."""
        for path, item in _fields(self.fields.get("paths")).items():
            try:
                shared = _fields(self._resolve(item))
            except _UNREADABLE as error:
                skipped[path] = f"{type(error).__name__}: {error}"
                continue
            for method in METHODS:
                if isinstance(operation := shared.get(method), dict):
                    try:
                        yield self._operation(path, method, shared, cast("Fields", operation))
                    except _UNREADABLE as error:
                        skipped[f"{method.upper()} {path}"] = f"{type(error).__name__}: {error}"

    def _operation(self, path: str, method: str, item: Fields, operation: Fields) -> Operation:
        parameters = self._parameters([*item.get("parameters", ()), *operation.get("parameters", ())], path)
        body = self._body(operation.get("requestBody"))
        if body is not None and method in ("get", "head"):
            if body.is_required:
                raise ValueError(f"its body cannot be sent with {method.upper()}")
            body = None
        summary, text = (str(operation.get(name) or "").strip() for name in ("summary", "description"))
        about = text if text.startswith(summary) else "\n\n".join(filter(None, (summary, text)))
        security = operation.get("security", self.fields.get("security")) or ()
        return Operation(
            name=self._name(operation.get("operationId"), method, path),
            method=method.upper(),
            path=path,
            description=about or f"{method.upper()} {path} of {self.title}.",
            tags=tuple(map(str, operation.get("tags", ()))),
            parameters=parameters,
            body=body,
            security=tuple(tuple(each) for each in security),
            input_schema=self._input_schema(parameters, body),
            server=_server(operation) or _server(item),
        )

    def _name(self, given: object, method: str, path: str) -> str:
        """A name that all models accept, and that is not used yet."""
        text = given if isinstance(given, str) and given else f"{method}_{path}"
        text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text)
        name = base = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:60] or method
        number = 2
        while name in self._names:
            name, number = f"{base[:56]}_{number}", number + 1
        self._names.add(name)
        return name

    def _parameters(self, given: list[Any], path: str) -> tuple[Parameter, ...]:
        found: dict[tuple[str, str], Fields] = {}
        for each in given:
            fields = _fields(self._resolve(each))
            found[str(fields["name"]), str(fields["in"])] = fields  # an operation's own replaces one of its path
        usable: list[tuple[str, Location, Fields]] = []
        for (name, where), fields in found.items():
            if where in ("path", "query") or (where == "header" and name.lower() not in REFUSED_HEADERS):
                usable.append((name, where, fields))
        missing = set(re.findall(r"\{([^}]+)\}", path)) - {name for name, where, _ in usable if where == "path"}
        if missing:
            raise ValueError(f"{min(missing)} of the path is not a parameter")
        arguments = _argument_names([(name, where) for name, where, _ in usable])
        return tuple(self._parameter(argument, *each) for argument, each in zip(arguments, usable, strict=True))

    def _parameter(self, argument: str, name: str, where: Location, fields: Fields) -> Parameter:
        schema, style = self._described(fields, _schema_of(fields)), _style(fields, where)
        if argument not in (name, f"{name}_{where}"):
            schema = {**schema, "description": f"{schema.get('description') or _words(name)} (sent as `{name}`)"}
        return Parameter(
            argument=argument,
            name=name,
            location=where,
            is_required=where == "path" or fields.get("required") is True,
            style=style,
            explodes=bool(fields.get("explode", style == "form")),
            schema=schema,
        )

    def _body(self, given: Any) -> Body | None:
        fields = _fields(self._resolve(given or {}))
        contents = _fields(fields.get("content"))
        for wanted in JSON_TYPES:
            for media_type, content in contents.items():
                kind = media_type.partition(";")[0].strip().lower()
                if kind == wanted or (wanted == JSON_TYPES[0] and kind.endswith("+json")):
                    schema = self._described(fields, _fields(_fields(content).get("schema")))
                    return Body(media_type, fields.get("required") is True, schema)
        if contents and fields.get("required") is True:
            raise ValueError(f"its body is {', '.join(contents)}, which cannot be sent")
        return None

    def _described(self, fields: Fields, schema: Fields) -> Fields:
        description = fields.get("description")
        if not description or schema.get("description"):
            return schema
        return {**schema, "description": description}

    def _input_schema(self, parameters: tuple[Parameter, ...], body: Body | None) -> dict[str, Any]:
        """The schema of all arguments, with the components that it refers to as its own definitions."""
        properties = {each.argument: each.schema for each in parameters}
        required = [each.argument for each in parameters if each.is_required]
        if body is not None:
            properties["body"] = body.schema
            required += ["body"] if body.is_required else []
        definitions: dict[str, Any] = {}
        schema = {
            "type": "object",
            "properties": _with_descriptions(
                {name: self._standalone(each, definitions) for name, each in properties.items()}
            ),
            "required": required,
            "additionalProperties": False,
        }
        return {**schema, "$defs": definitions} if definitions else schema

    def _standalone(self, value: Any, definitions: dict[str, Any]) -> Any:
        """A copy of a schema whose references lead to `$defs`, in the form of OpenAPI 3.1."""
        if isinstance(value, list):
            return [self._standalone(each, definitions) for each in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        fields = cast("dict[str, Any]", value)
        if isinstance(reference := fields.get("$ref"), str):
            name = self._definition_name(reference)
            if name not in definitions:
                definitions[name] = {}  # it may refer to itself
                definitions[name] = self._standalone(self._resolve(fields), definitions)
            described = {"description": fields["description"]} if "description" in fields else {}
            return {"$ref": f"#/$defs/{name}", **described}
        made: dict[str, Any] = {}
        for keyword, each in fields.items():
            if keyword in _NOT_SCHEMA or keyword.startswith("x-"):
                continue
            if keyword in _BY_NAME and isinstance(each, dict):  # its keys are names, also those that look like keywords
                parts = cast("Fields", each)
                made[keyword] = {name: self._standalone(part, definitions) for name, part in parts.items()}
            else:
                made[keyword] = each if keyword in _VALUES else self._standalone(each, definitions)
        if isinstance(properties := made.get("properties"), dict):
            given = _fields(fields["properties"])
            answered = {name for name, each in given.items() if _fields(each).get("readOnly") is True}
            sent = {name: each for name, each in cast("Fields", properties).items() if name not in answered}
            made["properties"] = _with_descriptions(sent)
            if isinstance(required := made.get("required"), list):  # of an answer, if a property is read-only
                made["required"] = [name for name in cast("list[Any]", required) if name not in answered]
        return _modern(made) if self._is_old else made

    def _definition_name(self, reference: str) -> str:
        """The name of the definition that a reference leads to. Two references never share one."""
        if reference not in self._definitions:
            name = base = re.sub(r"[^A-Za-z0-9_.-]", "_", reference.rpartition("/")[2])
            taken, number = set(self._definitions.values()), len(self._definitions)
            while name in taken:
                name, number = f"{base}_{number}", number + 1
            self._definitions[reference] = name
        return self._definitions[reference]

    def _resolve(self, value: Any) -> Any:
        """The part that a reference within the document leads to."""
        for _ in range(MAX_REFERENCES):
            reference = _fields(value).get("$ref")
            if not isinstance(reference, str):
                return value
            if not reference.startswith("#/"):
                raise ValueError(f"the reference {reference[:80]!r} leads out of the document")
            value = cast("Any", self.fields)
            for part in reference[2:].split("/"):
                name = unquote(part).replace("~1", "/").replace("~0", "~")
                value = value[int(name) if isinstance(value, list) else name]
        raise ValueError("its references lead in a circle")


_UNREADABLE = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""The errors of reading a part of a document that does not have its expected form."""
_NOT_SCHEMA = frozenset({"example", "examples", "externalDocs", "xml", "discriminator", "deprecated"})
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "definitions", "$defs"})
"""Keywords whose value has schemas by names."""
_VALUES = frozenset({"default", "const", "enum"})
"""Keywords whose value is data, in which nothing is a keyword."""
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


def _argument_names(given: Sequence[tuple[str, str]]) -> list[str]:
    """Name the arguments as their parameters, unless two share the name, or models refuse its characters."""
    names = [name for name, _ in given]
    taken, made = {"body", *names}, list[str]()
    for name, where in given:
        argument = f"{name}_{where}" if name == "body" or names.count(name) > 1 else name
        if not _ARGUMENT.fullmatch(argument):
            argument = re.sub(r"[^A-Za-z0-9_.-]+", "_", argument).strip("_")[:56] or where
        base, number = argument, 2
        while argument in taken and argument != name:
            argument, number = f"{base}_{number}", number + 1
        taken.add(argument)
        made.append(argument)
    return made


def _style(parameter: Fields, where: str) -> str:
    """How the value of a parameter is written."""
    if "schema" not in parameter and any("json" in kind for kind in _fields(parameter.get("content"))):
        return "json"
    return str(parameter.get("style", "form" if where == "query" else "simple"))


def _with_descriptions(properties: Fields) -> dict[str, Any]:
    """Describe properties that the document does not describe by the words of their names."""
    return {
        name: {**schema, "description": _words(name)}
        if isinstance(schema, dict) and "description" not in schema
        else schema
        for name, schema in properties.items()
    }


def _words(name: str) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ").replace("-", " ").split()
    return " ".join(words).lower().capitalize() or name


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Rewrite the keywords of OpenAPI 3.0 that JSON Schema has in another form."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool):
            is_exclusive = schema.pop(exclusive)
            if is_exclusive and limit in schema:
                schema[exclusive] = schema.pop(limit)
    if schema.pop("nullable", False) is True:
        if isinstance(kind := schema.get("type"), str):
            schema["type"] = [kind, "null"]
            if "enum" in schema and None not in schema["enum"]:
                schema["enum"] = [*schema["enum"], None]
        else:
            return {"anyOf": [schema, {"type": "null"}]}
    return schema


def _server(fields: Fields) -> str | None:
    """The first of the servers, with the defaults of its variables."""
    servers = cast("list[Any]", fields.get("servers") or [])
    if not servers:
        return None
    first = _fields(servers[0])
    url = str(first.get("url", ""))
    for name, variable in _fields(first.get("variables")).items():
        url = url.replace(f"{{{name}}}", str(_fields(variable).get("default", "")))
    return url.rstrip("/")


def _schema_of(parameter: Fields) -> Fields:
    if "schema" in parameter:
        return _fields(parameter["schema"])
    for content in _fields(parameter.get("content")).values():
        return _fields(_fields(content).get("schema"))
    return {"type": "string"}


def _fields(value: Any) -> Fields:
    return cast("Fields", value) if isinstance(value, dict) else {}


def _parse(source: Fields | str | bytes) -> Fields:
    if not isinstance(source, str | bytes):
        return source
    try:
        read: Any = json.loads(source)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise RegistrationError("The document is not a JSON object. If it is YAML, load it and pass the dictionary.")
    return cast("Fields", read)
