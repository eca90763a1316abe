"""Helpers for tests of schemas: the cleaned form of a type, checked for the properties that all of them have."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from callboard.schemas.clean import clean
from callboard.schemas.walk import children


def assert_invariants(raw: dict[str, Any], cleaned: dict[str, Any]) -> None:
    """S2 for every schema: valid, no title, no reference without need, no null beside another type, idempotent."""
    Draft202012Validator.check_schema(cleaned)
    definitions: dict[str, Any] = cleaned.get("$defs", {})
    mentioned: dict[str, set[str]] = {}
    for name, top in {"": {k: v for k, v in cleaned.items() if k != "$defs"}, **definitions}.items():
        mentioned[name] = set()
        pending = [top]
        while pending:
            schema = pending.pop()
            assert not {"title", "oneOf", "discriminator", "definitions", "$defs", "$id"} & schema.keys()
            assert not isinstance(schema.get("type"), list)
            assert None not in schema.get("enum", ()) or schema["enum"] == [None]
            assert schema.get("type") != "array" or isinstance(schema["items"], dict)
            if "anyOf" in schema:
                assert "null" not in (schema.get("type"), *(branch.get("type") for branch in schema["anyOf"]))
            if "$ref" in schema:
                assert schema.keys() == {"$ref"}
                mentioned[name].add(schema["$ref"].removeprefix("#/$defs/"))
            pending.extend(child for _, child in children(schema))
    assert set().union(*mentioned.values()) == definitions.keys(), "every definition is used, every reference defined"
    for name in definitions:
        assert _reaches(mentioned, name), f"{name} is kept without being recursive"
    assert clean(copy.deepcopy(cleaned)) == cleaned, "cleaning is idempotent"
    assert json.dumps(clean(raw)) == json.dumps(cleaned), "cleaning is deterministic"


def _reaches(edges: dict[str, set[str]], start: str) -> bool:
    ahead, seen = set(edges[start]), set[str]()
    while ahead:
        here = ahead.pop()
        if here not in seen:
            seen.add(here)
            ahead |= edges[here]
    return start in seen


@pytest.fixture
def cleaned() -> Callable[..., dict[str, Any]]:
    """The cleaned form of a type, or of a foreign schema given as a dict; the invariants hold and the input stays."""

    def make(source: Any, mode: Any = "validation") -> dict[str, Any]:
        raw: dict[str, Any] = source if isinstance(source, dict) else TypeAdapter(source).json_schema(mode=mode)
        before = copy.deepcopy(raw)
        made = clean(raw)
        assert raw == before, "the input is not changed"
        assert_invariants(raw, made)
        return made

    return make
