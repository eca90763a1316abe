"""The capability manifest: all tools of a registry as JSON."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import SchemaError
from ..schemas.dialects import DIALECTS
from .definition import Tool
from .gates import gate_label, is_open

VERSION = 1
"""Version of the format, incremented on incompatible changes."""


def manifest(tools: Iterable[Tool], flags: Mapping[str, bool], dialects: Iterable[str] = ()) -> dict[str, Any]:
    """Make the manifest of some tools. Each entry includes its schema in the given dialects."""
    return {"version": VERSION, "tools": [entry(tool, flags, dialects) for tool in tools]}


def entry(tool: Tool, flags: Mapping[str, bool], dialects: Iterable[str] = ()) -> dict[str, Any]:
    """Make the entry of one tool."""
    made: dict[str, Any] = {
        "name": tool.name,
        "namespace": tool.namespace,
        "title": tool.title,
        "description": tool.description,
        "usage": tool.usage,
        "mode": tool.mode.value,
        "group": tool.group,
        "tags": list(tool.tags),
        "channels": None if tool.channels is None else sorted(tool.channels),
        "gate": None if tool.gate is None else {"name": gate_label(tool.gate), "open": is_open(tool.gate, flags)},
        "idempotent": tool.idempotent,
        "timeout": tool.timeout,
        "placement": None if tool.placement is None else tool.placement.value,
        "queue": tool.queue,
        "breaker": None if tool.breaker is None else {"scope": str(tool.breaker.scope)},
        "estimated_duration": tool.estimated_duration,
        "examples": [dict(example) for example in tool.examples],
        "input_schema": copy.deepcopy(tool.input_schema),
        "output_schema": copy.deepcopy(tool.output_schema),
    }
    if wanted := list(dialects):
        made["schemas"] = {name: _schema(tool, name) for name in wanted}
    return made


def _schema(tool: Tool, dialect: str) -> dict[str, Any]:
    if dialect not in DIALECTS:
        return tool.schema(dialect)  # raises an error that lists the dialects
    try:
        return tool.schema(dialect)
    except SchemaError as error:
        return {"error": str(error), "path": error.path}
