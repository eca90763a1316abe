"""S5: a schema says what its model does, checked with generated models and values by an independent validator.

A `Kind` is a type together with JSON values that it takes, and JSON values that it refuses for a reason which a schema
can state. Models are made of kinds, so they are kinds themselves.
"""

import functools
import json
import operator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model

from callboard import SchemaError
from callboard.schemas.clean import clean
from callboard.schemas.dialects import DIALECTS
from callboard.schemas.walk import children

QUICK = settings(
    max_examples=100,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
LONG = settings(QUICK, max_examples=2000)
MUTATIONS = 8
"""The number of invalid values per model."""


@dataclass(frozen=True)
class Kind:
    annotation: Any
    values: st.SearchStrategy[Any]
    wrong: st.SearchStrategy[Any]


@dataclass(frozen=True)
class Shown:
    """As much of a tool as a dialect needs."""

    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    name: str = "generated"
    title: str = "Generated"
    prompt: str = "Generated."
    idempotent: bool = False
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None
    icons: tuple[str, ...] = ()


# Kinds


@st.composite
def integers(draw: st.DrawFn) -> Kind:
    low = draw(st.integers(-100, 100))
    high = low + draw(st.integers(0, 50))
    if draw(st.booleans()):
        bounded = Annotated[int, Field(ge=low, le=high)]
    else:
        bounded = Annotated[int, Field(gt=low - 1, lt=high + 1)]
    return Kind(bounded, st.integers(low, high), st.sampled_from([low - 1, high + 1, low + 0.5, "x", str(low), True]))


@st.composite
def numbers(draw: st.DrawFn) -> Kind:
    low, high = draw(st.sampled_from([(0.0, 1.0), (-273.15, 1e6), (1e-9, 2e-9)]))
    if draw(st.booleans()):
        return Kind(float, st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["x", "1.5", True, []]))
    values = st.floats(low, high)
    return Kind(Annotated[float, Field(ge=low, le=high)], values, st.sampled_from([low - 1, high * 2, "x", False]))


@st.composite
def texts(draw: st.DrawFn, *, lengths: bool) -> Kind:
    low = draw(st.integers(0, 3))
    high = low + draw(st.integers(0, 5))
    wrong: list[Any] = [5, ["x"], True, {}]
    if lengths:
        wrong += ["x" * (high + 1), "🎭" * (high + 2)]
    annotation = Annotated[str, Field(min_length=low, max_length=high)]
    return Kind(annotation, st.text(min_size=low, max_size=high), st.sampled_from(wrong))


@st.composite
def choices(draw: st.DrawFn) -> Kind:
    values = draw(
        st.one_of(
            st.lists(st.text(max_size=4), min_size=1, max_size=4, unique=True),
            st.lists(st.integers(2, 50), min_size=1, max_size=4, unique=True),
        )
    )
    names: Any = Enum("Choice", {f"C{index}": value for index, value in enumerate(values)})
    annotation = draw(st.sampled_from([Literal[*values], names]))
    return Kind(annotation, st.sampled_from(values), st.sampled_from(["outside", -1, [], {}]))


booleans = st.just(Kind(bool, st.booleans(), st.sampled_from([0, 1, "true", []])))


def compound(inner: st.SearchStrategy[Kind], *, dicts: bool, lengths: bool) -> st.SearchStrategy[Kind]:
    found = [lists(inner), models(inner), unions(inner)]
    return st.one_of(*found, mappings(inner)) if dicts else st.one_of(*found)


@st.composite
def lists(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    kind = draw(inner)
    low = draw(st.integers(0, 2))
    annotation = Annotated[list[kind.annotation], Field(min_length=low, max_length=low + 2)]
    wrong = [st.just("x"), st.just({}), st.lists(kind.values, min_size=low + 3, max_size=low + 3)]
    wrong.append(
        st.tuples(st.lists(kind.values, min_size=low, max_size=low + 1), kind.wrong).map(lambda p: [*p[0], p[1]])
    )
    return Kind(annotation, st.lists(kind.values, min_size=low, max_size=low + 2), st.one_of(wrong))


@st.composite
def mappings(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    kind = draw(inner)
    keys = st.text(max_size=3)
    wrong = st.one_of(st.sampled_from([5, [], "x"]), st.dictionaries(keys, kind.wrong, min_size=1, max_size=2))
    return Kind(dict[str, kind.annotation], st.dictionaries(keys, kind.values, max_size=3), wrong)


@st.composite
def models(draw: st.DrawFn, inner: st.SearchStrategy[Kind], tag: str | None = None) -> Kind:
    """A model of up to four properties: required, with a default, nullable, or nullable without a default."""
    fields: dict[str, Any] = {}
    values: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    wrong: dict[str, st.SearchStrategy[Any]] = {}
    if tag is not None:
        fields["tag"], values["tag"] = (Literal[tag], Field(description="Which")), st.just(tag)
        wrong["tag"] = st.just("outside")
    for name in draw(
        st.lists(st.sampled_from(["title", "properties", "type", "a", "b"]), min_size=1, max_size=4, unique=True)
    ):
        kind = draw(inner)
        own = f"own_{name}"
        wrong[name] = kind.wrong
        described: dict[str, Any] = {"description": draw(st.text(min_size=1, max_size=8)), "alias": name}
        match draw(st.sampled_from(["required", "default", "nullable", "null"])):
            case "required":
                fields[own], values[name] = (kind.annotation, Field(**described)), kind.values
            case "default":
                default = TypeAdapter(kind.annotation).validate_json(json.dumps(draw(kind.values)))
                fields[own], optional[name] = (kind.annotation, Field(default, **described)), kind.values
            case "nullable":
                fields[own], optional[name] = (kind.annotation | None, Field(None, **described)), kind.values
            case _:
                fields[own] = (kind.annotation | None, Field(**described))
                values[name] = st.none() | kind.values
    model = create_model(draw(st.sampled_from(["First", "Second", "Third"])), **fields)
    good = st.fixed_dictionaries(values, optional=optional)
    broken = [st.sampled_from([5, "x", []]), *(_with(good, name, bad) for name, bad in wrong.items())]
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    needed = [model.model_fields[name].alias or name for name in required if not _nullable(fields[name][0])]
    broken += [_without(good, name) for name in needed]
    return Kind(model, good, st.one_of(broken))


def _nullable(annotation: Any) -> bool:
    return type(None) in getattr(annotation, "__args__", ())


def _with(good: st.SearchStrategy[Any], name: str, bad: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(good, bad).map(lambda pair: {**pair[0], name: pair[1]})


def _without(good: st.SearchStrategy[Any], name: str) -> st.SearchStrategy[Any]:
    return good.map(lambda value: {key: child for key, child in value.items() if key != name})


@st.composite
def unions(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    branches = [draw(models(inner, tag=tag)) for tag in draw(st.sampled_from([("one", "two"), ("x", "y", "z")]))]
    annotation: Any = functools.reduce(operator.or_, (branch.annotation for branch in branches))
    if draw(st.booleans()):
        annotation = Annotated[annotation, Field(discriminator="tag")]
    values, wrong = [branch.values for branch in branches], [branch.wrong for branch in branches]
    return Kind(annotation, st.one_of(values), st.one_of(wrong))


def kinds(*, dicts: bool = True, lengths: bool = True) -> st.SearchStrategy[Kind]:
    """Models of everything, as deep as three levels."""
    simple = st.one_of(integers(), numbers(), texts(lengths=lengths), choices(), booleans)
    below = st.one_of(simple, compound(simple, dicts=dicts, lengths=lengths))
    return models(st.one_of(simple, compound(below, dicts=dicts, lengths=lengths)))


# The property


def accepted(model: type[BaseModel], value: Any) -> BaseModel | None:
    try:
        return model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError:
        return None


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(child) for key, child in value.items() if child is not None}
    return [without_nulls(child) for child in value] if isinstance(value, list) else value


def taken(schema: dict[str, Any], value: Any) -> bool:
    return Draft202012Validator(schema).is_valid(value)


def check_default_form(kind: Kind, data: st.DataObject) -> None:
    raw = kind.annotation.model_json_schema()
    schema = clean(raw)
    Draft202012Validator.check_schema(schema)
    assert clean(schema) == schema
    value = data.draw(kind.values, label="value")
    read = accepted(kind.annotation, value)
    assert read is not None, "the generator is right about what the model takes"
    assert taken(schema, without_nulls(value))
    assert taken(schema, without_nulls(read.model_dump(mode="json", by_alias=True)))
    for wrong in data.draw(st.lists(kind.wrong, min_size=MUTATIONS, max_size=MUTATIONS), label="wrong"):
        if accepted(kind.annotation, wrong) is None:
            assert not taken(schema, wrong)


def check_strict_form(kind: Kind, data: st.DataObject) -> None:
    shown = DIALECTS["openai-strict"](Shown(clean(kind.annotation.model_json_schema())))
    schema = shown["function"]["parameters"]
    Draft202012Validator.check_schema(schema)
    read = accepted(kind.annotation, data.draw(kind.values, label="value"))
    assert read is not None
    complete = read.model_dump(mode="json", by_alias=True)
    assert taken(schema, complete)
    for name in complete:
        assert not taken(schema, {key: child for key, child in complete.items() if key != name})
    assert not taken(schema, {**complete, "undeclared": 1})
    for wrong in data.draw(st.lists(kind.wrong, min_size=MUTATIONS, max_size=MUTATIONS), label="wrong"):
        whole = {**complete, **wrong} if isinstance(wrong, dict) else wrong
        if accepted(kind.annotation, whole) is None:
            assert not taken(schema, whole)


FORBIDDEN = {
    "claude": {"$ref", "title", "oneOf"},
    "openai": {"$ref", "title", "oneOf"},
    "openai-responses": {"$ref", "title", "oneOf"},
    "ag-ui": {"$ref", "title", "oneOf"},
    "mcp": {"$ref", "title", "oneOf"},
    "openai-strict": {"$ref", "title", "oneOf", "default", "minLength", "maxLength", "prefixItems", "uniqueItems"},
    "gemini": {"$ref", "title", "oneOf", "const", "exclusiveMinimum", "exclusiveMaximum", "prefixItems", "not"},
}


def _has_dict(schema: dict[str, Any]) -> bool:
    return "additionalProperties" in schema or any(_has_dict(child) for _, child in children(schema))


def check_dialects(kind: Kind, data: st.DataObject) -> None:
    schema = clean(kind.annotation.model_json_schema())
    value = without_nulls(data.draw(kind.values, label="value"))
    for name, dialect in DIALECTS.items():
        if name == "openai-strict" and _has_dict(schema):
            with pytest.raises(SchemaError) as caught:
                dialect(Shown(schema))
            assert caught.value.path
            continue
        shown = dialect(Shown(schema, schema))
        shown = shown.get("function", shown)
        top = shown.get("parameters") or shown.get("input_schema") or shown["inputSchema"]
        pending = [top]
        for current in pending:
            assert not FORBIDDEN[name] & current.keys(), name
            pending.extend(child for _, child in children(current))
        if name != "openai-strict":
            assert taken(top, value), f"{name} refuses what the tool takes"


@QUICK
@given(kinds(), st.data())
def test_s5_the_default_form_is_equivalent_to_the_model(kind: Kind, data: st.DataObject) -> None:
    check_default_form(kind, data)


@QUICK
@given(kinds(dicts=False, lengths=False), st.data())
def test_s5_the_strict_form_is_equivalent_to_the_model(kind: Kind, data: st.DataObject) -> None:
    check_strict_form(kind, data)


@QUICK
@given(kinds(), st.data())
def test_s5_no_dialect_has_a_forbidden_keyword_or_refuses_a_good_value(kind: Kind, data: st.DataObject) -> None:
    check_dialects(kind, data)


@pytest.mark.slow
@LONG
@given(kinds(), st.data())
def test_s5_the_default_form_at_length(kind: Kind, data: st.DataObject) -> None:
    check_default_form(kind, data)
    check_dialects(kind, data)


@pytest.mark.slow
@LONG
@given(kinds(dicts=False, lengths=False), st.data())
def test_s5_the_strict_form_at_length(kind: Kind, data: st.DataObject) -> None:
    check_strict_form(kind, data)


class Tree(BaseModel):
    name: str
    left: "Tree | None" = None
    more: "list[Tree]" = []


trees = st.recursive(
    st.fixed_dictionaries({"name": st.text(max_size=2)}),
    lambda inner: st.fixed_dictionaries(
        {"name": st.text(max_size=2)}, optional={"left": inner, "more": st.lists(inner, max_size=2)}
    ),
    max_leaves=6,
)


@QUICK
@given(trees, st.sampled_from([5, {}, {"name": 5}, {"name": "x", "more": {}}]))
def test_s5_recursive_models(value: Any, wrong: Any) -> None:
    schema = clean(Tree.model_json_schema())
    assert accepted(Tree, value) is not None
    assert taken(schema, value)
    for broken in (wrong, {"name": "top", "left": wrong}, {"name": "top", "more": [value, wrong]}):
        assert accepted(Tree, broken) is None
        assert not taken(schema, broken)
