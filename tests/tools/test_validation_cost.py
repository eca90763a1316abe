"""Schemas and values that are small, and would take minutes to validate. A test that hangs is one that fails."""

import json
from typing import Any

import pytest

from callboard import Registry, ToolError, dynamic_tool
from callboard.tools import validation_cost

pytestmark = pytest.mark.anyio

NODE = {"$ref": "#/$defs/node"}


async def _echo(arguments: dict[str, Any]) -> Any:
    return arguments


def _kind(name: str) -> dict[str, Any]:
    properties = {
        "type": {"const": name, "description": "The type"},
        "children": {"type": "array", "items": NODE, "description": "The nodes in it"},
    }
    return {"type": "object", "properties": properties, "required": ["type"]}


TREE = {
    "type": "object",
    "properties": {"tree": {**NODE, "description": "The tree"}},
    "$defs": {"node": {"oneOf": [_kind("group"), _kind("list")]}},
}
"""Nodes of two types, both of which have children: to tell what is wrong, both are tried at every level."""


def _tree(levels: int, leaf: str) -> dict[str, Any]:
    return json.loads('{"tree":' + '{"type":"group","children":[' * levels + leaf + "]}" * levels + "}")


def _tool(schema: dict[str, Any], output_schema: dict[str, Any] | None = None) -> Registry:
    return Registry([dynamic_tool("draw", schema, _echo, description="Draw.", output_schema=output_schema)])


async def test_h5_arguments_of_a_recursive_schema_are_checked_in_one_pass() -> None:
    registry = _tool(TREE)
    valid = _tree(40, '{"type":"list"}')
    assert await registry.call("draw", valid) == valid
    with pytest.raises(ToolError, match="nested too deeply to say where") as refused:
        await registry.call("draw", _tree(40, '{"type":"oops"}'))
    assert refused.value.category == "validation"


async def test_h5_problems_are_described_where_that_is_cheap() -> None:
    with pytest.raises(ToolError, match="tree: ") as refused:
        await _tool(TREE).call("draw", _tree(2, '{"type":"oops"}'))
    assert "too deeply" not in refused.value.message
    wide = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "description": "A"}}}
    with pytest.raises(ToolError, match=r"a\[4999\]|a\.4999|a/4999"):
        await _tool(wide).call("draw", {"a": [*["x"] * 4_999, 5]})


@pytest.mark.parametrize("hops", [1, 12])
async def test_h5_definitions_that_refer_to_each_other_are_counted_together(hops: int) -> None:
    """Each level of the value is checked against a chain of definitions, every one of which doubles the checks."""
    names = [f"d{number}" for number in range(hops)]
    definitions: dict[str, Any] = {
        name: {"anyOf": [{"$ref": f"#/$defs/{following}"}] * 2}
        for name, following in zip(names, [*names[1:], "node"], strict=True)
    }
    definitions["node"] = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0", "description": "X"}}}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0", "description": "X"}}, "$defs": definitions}
    levels = 40 // hops
    value = json.loads('{"x":' * levels + '{"x":1}' + "}" * levels)
    with pytest.raises(ToolError, match="nested too deeply"):
        await _tool(schema).call("draw", value)


@pytest.mark.parametrize(
    "part", [{"anyOf": [{"const": number} for number in range(5_000)]}, {"pattern": "^(?!(a+)+b)"}]
)
async def test_h5_values_times_checks_are_limited(part: dict[str, Any]) -> None:
    items = {"type": "array", "items": part, "description": "The items"}
    schema = {"type": "object", "properties": {"items": items}}
    many = {"items": [4_999] * 10_000} if "anyOf" in part else {"items": ["aaa"] * 10_000}
    few = {"items": many["items"][:10]}
    with pytest.raises(ToolError, match="too many values to check"):
        await _tool(schema).call("draw", many)
    assert await _tool(schema).call("draw", few) == few
    anything = {"type": "object", "additionalProperties": True}
    with pytest.raises(ToolError, match="too many values to check") as refused:
        await _tool(anything, schema).call("draw", many)
    assert refused.value.category == "resource"
    assert await _tool(anything, schema).call("draw", few) == few


async def test_h5_a_large_value_of_an_ordinary_schema_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation_cost, "MAX_CHECKS", 50_000)
    item = {"type": "object", "properties": {"name": {"type": "string", "description": "The name"}}}
    items = {"type": "array", "items": item, "description": "The items"}
    value = {"items": [{"name": "x" * 1_000}] * 1_000}
    schema = {"type": "object", "properties": {"items": items}}
    assert await _tool(schema, schema).call("draw", value) == value


SLOW = "(?=.*c)a"
"""Each attempt to match it reads the rest of the text."""
LONG = "a" * 20_000 + "c"


def _text(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"description": "A", **part}}, "$defs": {"a": {"pattern": SLOW}}}


@pytest.mark.parametrize("pattern", [SLOW, r"(a)\1", "a*(?=.*c)c", "^(?=.*c)a*(?=c)", "(?<!c)a", "^(?=a++c)a"])
async def test_h5_texts_that_are_matched_against_slow_patterns_are_limited(pattern: str) -> None:
    schema = _text({"pattern": pattern})
    with pytest.raises(ToolError, match="texts are too long") as refused:
        await _tool(schema).call("draw", {"a": LONG})
    assert refused.value.category == "validation"
    anything = {"type": "object", "additionalProperties": True}
    with pytest.raises(ToolError, match="texts that are too long") as refused:
        await _tool(anything, schema).call("draw", {"a": LONG})
    assert refused.value.category == "resource"
    short = {"a": LONG[-1_000:]}
    assert await _tool(schema, schema).call("draw", short) == short


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"$ref": "#/$defs/a"}, LONG),
        ({"items": {"pattern": SLOW}}, [LONG]),
        ({"anyOf": [{"prefixItems": [{"not": {"pattern": SLOW}}]}, True]}, [LONG]),
        ({"additionalProperties": {"pattern": SLOW}}, {"b": LONG}),
        ({"patternProperties": {SLOW: {}}}, {LONG: 1}),
        ({"propertyNames": {"pattern": SLOW}}, {LONG: 1}),
        ({"dependencies": {"b": {"properties": {"b": {"pattern": SLOW}}}}}, {"b": LONG}),
    ],
)
async def test_h5_slow_patterns_are_found_in_every_part_of_a_schema(part: dict[str, Any], value: Any) -> None:
    with pytest.raises(ToolError, match="texts are too long"):
        await _tool(_text(part)).call("draw", {"a": value})


async def test_h5_other_texts_are_not_limited_by_a_slow_pattern() -> None:
    properties = {
        "path": {"type": "string", "pattern": "/(?!etc)", "description": "The path"},
        "body": {"type": "string", "pattern": "^(?!\\s*$)(?=[^x])", "description": "Text that is not blank"},
        "lines": {"type": "array", "items": {"type": "string"}, "description": "More texts"},
    }
    registry = _tool({"type": "object", "properties": properties})
    value = {"path": "/tmp/a", "body": "a" * 1_000_000, "lines": [LONG]}
    assert await registry.call("draw", value) == value


async def test_h5_a_pattern_is_matched_in_a_limited_number_of_steps() -> None:
    """The first alternative takes 2**17 steps to fail."""
    registry = _tool(_text({"pattern": "^(?:(?:a|a)*(?=d)d|a*c)$"}))
    assert await registry.call("draw", {"a": "aaac"}) == {"a": "aaac"}
    with pytest.raises(ToolError, match="a: "):
        await registry.call("draw", {"a": "a" * 17 + "c"})


INNER = {"$ref": "#", "description": "B"}
NESTED = {"type": "object", "additionalProperties": True, "required": ["a"], "properties": {"b": INNER}}


def _nested(levels: int, value: Any) -> Any:
    return {"b": _nested(levels - 1, value)} if levels else value


COPIES = {
    "names": (_text({"propertyNames": {"maxLength": 3}}), lambda size: {"a": {f"key {n}": 1 for n in range(size)}}),
    "branches": (_text({"anyOf": [{"const": n} for n in range(400)]}), lambda size: {"a": "x" * 1_000 * size}),
    "options": (_text({"items": {"enum": [str(n) for n in range(1_000)]}}), lambda size: {"a": ["x"] * 10 * size}),
    "levels": (NESTED, lambda size: _nested(min(size, 150), {"c": "x" * 1_000 * size})),
}
"""Schemas and values of a size, whose problems copy the value or what is allowed."""


@pytest.mark.parametrize("case", COPIES)
async def test_h5_problems_are_described_only_where_little_is_copied(case: str) -> None:
    schema, value = COPIES[case]
    with pytest.raises(ToolError, match="too large or nested too deeply to say where"):
        await _tool(schema).call("draw", value(1_000))
    with pytest.raises(ToolError) as refused:
        await _tool(schema).call("draw", value(10))
    assert "too large" not in refused.value.message


async def test_h5_a_small_problem_beside_a_large_text_is_described() -> None:
    text = {"type": "string", "description": "The text"}
    mode = {"enum": ["read", "write"], "description": "The mode"}
    schema = {"type": "object", "properties": {"text": text, "mode": mode}, "required": ["text", "mode"]}
    with pytest.raises(ToolError, match="mode: "):
        await _tool(schema).call("draw", {"text": "x" * 1_000_000, "mode": "run"})
