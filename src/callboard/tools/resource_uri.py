"""The URI under which a tool is read as a resource, or its template (RFC 6570), whose variables are its arguments."""

import re

from ..errors import RegistrationError
from ..spelling import known_names
from ..types import JSONSchema

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_EXPRESSION = re.compile(r"\{[+#./;?&]?(\w[\w.]*\*?(?:,\w[\w.]*\*?)*)\}", re.ASCII)


def check_resource(tool: str, uri: str, schema: JSONSchema) -> None:
    """Raise `RegistrationError` for a URI at which a tool with this input schema could not be read."""
    where = f"The tool {tool} has resource={uri!r}"
    if not _SCHEME.match(uri) or "{" in (rest := _EXPRESSION.sub("", uri)) or "}" in rest:
        raise RegistrationError(f"{where}. It must be a URI or a URI template, such as 'users://{{name}}/profile'.")
    names = [name.rstrip("*") for found in _EXPRESSION.findall(uri) for name in found.split(",")]
    properties = schema["properties"]
    for name in names:
        if name not in properties and schema.get("additionalProperties") is False:
            raise RegistrationError(f"{where}, but no parameter {name!r}. {known_names(name, list(properties))}")
        if names.count(name) > 1:
            raise RegistrationError(f"{where}, which has the variable {name!r} twice.")
    if missing := [name for name in schema.get("required", ()) if name not in names]:
        raise RegistrationError(
            f"{where}, but the required parameter {missing[0]!r} is not in it, so that no URI could give it. Add "
            f"{{{missing[0]}}}, or give the parameter a default."
        )
