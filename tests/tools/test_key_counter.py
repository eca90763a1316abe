"""Counting the keys that a validated value came from: right for every type, so that a key that is given twice, and what
is no number, is refused wherever it stands, and nothing else is (T5).
"""

import dataclasses
import json
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, TypeAdapter, ValidationError, create_model
from typing_extensions import TypedDict

from callboard import ToolError
from callboard.jsonrules.duplicate_keys import max_key_count
from callboard.jsonrules.key_counter import key_counter
from callboard.tools.typed_arguments import TypedArguments
from callboard.tools.validators import strict_validator

NO_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"]

few = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def arguments_of(kind: Any, *, lax: bool = True) -> TypedArguments:
    return TypedArguments(kind, TypeAdapter(kind), lax=lax, closed=False)


def refused(arguments: TypedArguments, document: str) -> str:
    """Why a document is refused, the first time and once its type is known."""
    with pytest.raises(ToolError) as caught:
        arguments.parse("read", document.encode())
    assert caught.value.category == "validation"
    return caught.value.message


# Types, and data of them


class Shape(NamedTuple):
    """A type, and the JSON data of it."""

    kind: Any
    data: st.SearchStrategy[Any]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Tree(BaseModel):
    """Contains itself."""

    value: float
    children: list["Tree"] = []


class Chain(TypedDict):
    """Contains itself, as a dictionary."""

    value: int
    next: NotRequired["Chain | None"]


numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(alphabet='aé{["\\\n', max_size=3)  # a colon would be counted as one of a key

scalars = st.sampled_from(
    [
        Shape(int, st.integers(-9, 9)),
        Shape(float, numbers),
        Shape(str, texts),
        Shape(bool, st.booleans()),
        Shape(None, st.none()),
        Shape(Literal["x", "y"], st.sampled_from(["x", "y"])),
        Shape(Colour, st.sampled_from(["red", "blue"])),
        Shape(Annotated[float, Field(allow_inf_nan=True)], numbers),
    ]
)


def nullable(inner: Shape) -> Shape:
    return Shape(inner.kind | None if inner.kind is not None else None, st.none() | inner.data)


def listed(inner: Shape) -> Shape:
    return Shape(list[inner.kind], st.lists(inner.data, max_size=3))


@st.composite
def models(draw: st.DrawFn, inner: st.SearchStrategy[Shape], *, least: int = 0) -> Shape:
    """A model, some fields of which have a default, or another name in JSON."""
    fields: dict[str, Any] = {}
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for number, shape in enumerate(draw(st.lists(inner, min_size=least, max_size=4))):
        key = f"f{number}"
        options: dict[str, Any] = {}
        if draw(st.booleans()):
            options["alias"] = key = f"other{number}"
        if draw(st.booleans()):
            default = TypeAdapter(shape.kind).validate_json(json.dumps(draw(shape.data)))
            options |= draw(st.sampled_from([{"default": default}, {"default_factory": lambda value=default: value}]))
            optional[key] = shape.data
        else:
            required[key] = shape.data
        fields[f"f{number}"] = (shape.kind, Field(**options))
    return Shape(create_model("Made", **fields), st.fixed_dictionaries(required, optional=optional))


@st.composite
def dictionaries(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    shapes = {f"d{number}": shape for number, shape in enumerate(draw(st.lists(inner, max_size=3)))}
    left_out = draw(st.sets(st.sampled_from(sorted(shapes)))) if shapes else set[str]()
    fields = {name: NotRequired[s.kind] if name in left_out else s.kind for name, s in shapes.items()}
    required = {name: shape.data for name, shape in shapes.items() if name not in left_out}
    return Shape(
        TypedDict("Made", fields),  # pyright: ignore[reportArgumentType]
        st.fixed_dictionaries(required, optional={name: shapes[name].data for name in left_out}),
    )


def counted(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
    """Types for which a function is made."""
    return inner.map(nullable) | inner.map(listed) | models(inner) | dictionaries(inner)


def rooted(inner: Shape) -> Shape:
    return Shape(RootModel[inner.kind], inner.data)


def mapped(inner: Shape) -> Shape:
    return Shape(dict[str, inner.kind], st.dictionaries(texts, inner.data, max_size=3))


def paired(inner: Shape) -> Shape:
    return Shape(tuple[inner.kind, float], st.tuples(inner.data, numbers).map(list))


def boxed(inner: Shape) -> Shape:
    return Shape(dataclasses.make_dataclass("Box", [("inside", inner.kind)]), st.builds(dict, inside=inner.data))


def either(inner: Shape) -> Shape:
    """A union of two models."""
    one, other = create_model("One", one=(inner.kind, ...)), create_model("Other", other=(inner.kind, ...))
    return Shape(one | other, st.builds(dict, one=inner.data) | st.builds(dict, other=inner.data))


anything = st.recursive(
    st.none() | numbers | texts, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2)
)
trees = st.recursive(
    st.builds(dict, value=numbers),
    lambda inner: st.builds(dict, value=numbers, children=st.lists(inner, max_size=2)),
    max_leaves=4,
)
chains = st.recursive(
    st.builds(dict, value=st.integers(0, 9)),
    lambda inner: st.builds(dict, value=st.integers(0, 9), next=inner | st.none()),
    max_leaves=3,
)
others = st.sampled_from([Shape(Tree, trees), Shape(Chain, chains), Shape(Any, anything)])


def mixed(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
    """Types of every sort."""
    rest = inner.map(rooted) | inner.map(mapped) | inner.map(paired) | inner.map(boxed) | inner.map(either)
    return counted(inner) | rest


floats = st.just(Shape(float, numbers))
known = st.recursive(scalars, counted, max_leaves=5)
every = st.recursive(scalars | others, mixed, max_leaves=5)


class Case(NamedTuple):
    """A type and data of it."""

    kind: Any
    data: Any


@st.composite
def cases(draw: st.DrawFn, shapes: st.SearchStrategy[Shape]) -> Case:
    shape = draw(shapes)
    return Case(shape.kind, draw(shape.data))


# Texts of data


class Writer:
    """Writes data as JSON text, and changes the location with the number `at` that `fits`."""

    def __init__(self, fits: Callable[[Any], bool], spoil: Callable[[list[str]], list[str]], at: int = -1) -> None:
        self.fits, self.spoil, self.at = fits, spoil, at
        self.places = 0

    def text(self, value: Any) -> str:
        if isinstance(value, dict):
            parts = [f"{json.dumps(key)}:{self.text(each)}" for key, each in value.items()]
        elif isinstance(value, list):
            parts = [self.text(each) for each in value]
        else:
            parts = [json.dumps(value)]
        if self.fits(value):
            if self.places == self.at:
                parts = self.spoil(parts)
            self.places += 1
        inner = ",".join(parts)
        return f"{{{inner}}}" if isinstance(value, dict) else f"[{inner}]" if isinstance(value, list) else inner


def keys_in(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(keys_in, value.values()))
    return sum(map(keys_in, value)) if isinstance(value, list) else 0


def has_keys(value: Any) -> bool:
    return isinstance(value, dict) and bool(value)


def is_plain(value: Any) -> bool:
    return not isinstance(value, dict | list)


def spoilt(
    draw: Callable[[st.SearchStrategy[int]], int],
    data: Any,
    fits: Callable[[Any], bool],
    spoil: Callable[[list[str]], list[str]],
) -> str:
    """Draw the text of data with one changed location of those that fit."""
    whole = Writer(fits, spoil)
    whole.text(data)
    assume(whole.places)
    return Writer(fits, spoil, draw(st.integers(0, whole.places - 1))).text(data)


# The function of a type


@given(cases(models(known) | dictionaries(known)))
@few
def test_t5_a_types_function_counts_the_keys_of_the_document(case: Case) -> None:
    adapter = TypeAdapter[Any](case.kind)
    count = key_counter(adapter.core_schema)
    assert count is not None
    assert count(adapter.validate_json(json.dumps(case.data))) == keys_in(case.data)


@given(cases(models(floats | floats.map(nullable) | known, least=2)), st.data())
@few
def test_t5_a_strict_validator_refuses_numbers_that_are_not_finite(case: Case, data: st.DataObject) -> None:
    token = data.draw(st.sampled_from(NO_NUMBERS))
    text = spoilt(data.draw, case.data, lambda value: isinstance(value, float), lambda _: [token])
    adapter = TypeAdapter[Any](case.kind)
    strict = strict_validator(adapter.core_schema, lax=True)
    assert repr(strict.validate_json(json.dumps(case.data))) == repr(adapter.validate_json(json.dumps(case.data)))
    with pytest.raises(ValidationError):
        strict.validate_json(text)


@pytest.mark.parametrize("kind", [Tree, Chain, RootModel[list[int]], dict[str, int], list[Any], int | Tree])
def test_t5_for_other_types_there_is_no_function(kind: Any) -> None:
    assert key_counter(TypeAdapter(create_model("Holder", held=(kind, ...))).core_schema) is None
    assert key_counter(TypeAdapter(kind).core_schema) is None


def test_t5_a_type_that_is_used_in_very_many_places_is_walked_instead() -> None:
    kind: Any = create_model("Leaf", value=(float, ...))
    document = '{"value": 1.5}'
    for level in range(9):
        kind = create_model(f"Level{level}", one=(kind, ...), two=(kind, ...))
        document = f'{{"one": {document}, "two": {document}}}'
    assert key_counter(TypeAdapter(kind).core_schema) is None
    arguments = arguments_of(kind)
    for _ in range(2):
        arguments.parse("read", document.encode())
        assert "'value' twice" in refused(arguments, document.replace('"value": 1.5', '"value": 1, "value": 2', 1))


def test_t5_a_type_of_too_many_levels_is_walked_instead() -> None:
    kind: Any = float
    for _ in range(30):
        kind = list[kind]
    holder: Any = create_model("Holder", held=(kind, ...))
    assert key_counter(TypeAdapter(holder).core_schema) is None
    arguments = arguments_of(holder)
    arguments.parse("read", f'{{"held": {"[" * 30}1.5{"]" * 30}}}'.encode())
    assert "finite" in refused(arguments, f'{{"held": {"[" * 30}NaN{"]" * 30}}}')


def test_t5_ignored_properties_must_not_be_too_deep_either() -> None:
    arguments = arguments_of(create_model("Holder", __config__=ConfigDict(extra="ignore"), held=(int, ...)))
    for _ in range(2):
        arguments.parse("read", f'{{"held": 1, "other": {"[" * 180}{"]" * 180}}}'.encode())
        assert "too deeply" in refused(arguments, f'{{"held": 1, "other": {"[" * 195}{"]" * 195}}}')


def test_t5_where_nothing_can_be_counted_there_is_no_function() -> None:
    assert key_counter(TypeAdapter(list[int]).core_schema) is None


# Documents of every type


@given(cases(models(every) | dictionaries(every)), st.booleans())
@few
def test_t5_no_valid_document_is_refused(case: Case, lax: bool) -> None:
    arguments, text = arguments_of(case.kind, lax=lax), json.dumps(case.data)
    expected = repr(TypeAdapter[Any](case.kind).validate_json(text))
    for _ in range(2):  # the second time it is known what to look for
        assert repr(arguments.parse("read", text.encode())) == expected


@given(cases(models(every, least=1)), st.data())
@few
def test_t5_a_key_given_twice_is_refused_wherever_it_stands(case: Case, data: st.DataObject) -> None:
    arguments = arguments_of(case.kind)
    arguments.parse("read", json.dumps(case.data).encode())

    def twice(parts: list[str]) -> list[str]:
        return [*parts, data.draw(st.sampled_from(parts))]

    text = spoilt(data.draw, case.data, has_keys, twice)
    assert "twice" in refused(arguments, text)
    assert "twice" in refused(arguments_of(case.kind), text), "also if it is the first"


@given(cases(models(every, least=1)), st.data())
@few
def test_t5_a_number_that_is_not_finite_is_refused_at_every_location(case: Case, data: st.DataObject) -> None:
    arguments = arguments_of(case.kind)
    arguments.parse("read", json.dumps(case.data).encode())
    token = data.draw(st.sampled_from(NO_NUMBERS))
    text = spoilt(data.draw, case.data, is_plain, lambda _: [token])
    refused(arguments, text)
    refused(arguments_of(case.kind), text)


@given(cases(models(every)), st.data())
@few
def test_t5_ignored_properties_are_checked_too(case: Case, data: st.DataObject) -> None:
    arguments = arguments_of(case.kind)
    arguments.parse("read", json.dumps(case.data).encode())
    ignored = data.draw(st.sampled_from(['{"a":1,"a":1}', "[NaN]", '{"a":[{"b":1e999}]}']))
    text = json.dumps(case.data)[:-1] + (", " if case.data else "") + f'"ignored": {ignored}}}'
    refused(arguments, text)
    refused(arguments_of(case.kind), text)


# The same for types that people write


class Sub(BaseModel):
    x: int
    weight: float | None = None


@dataclasses.dataclass
class Box:
    inside: Sub


class Pair(TypedDict):
    left: Sub
    right: NotRequired[float]


class Numbers(RootModel[list[float]]):
    pass


class Nested(BaseModel):
    sub: Sub


class Listed(BaseModel):
    subs: list[Sub]


class Holes(BaseModel):
    subs: list[Sub | None]
    weights: list[float | None] = []
    rows: list[list[float] | None] = []


class Optional(BaseModel):
    sub: Sub | None = None
    weight: float | None = None


class Filled(BaseModel):
    """A default that is a model has keys that are not in the document."""

    a: int
    sub: Sub = Sub(x=1)
    subs: list[Sub] = [Sub(x=1), Sub(x=2)]
    most: float = float("inf")
    made: Sub = Field(default_factory=lambda: Sub(x=1))
    wrong: float = "none"  # type: ignore[assignment]


class Named(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    weight: float = Field(alias="mass")
    sub: Sub = Field(validation_alias=AliasChoices("sub", "part"), default=Sub(x=1))


class Mixed(BaseModel):
    either: Sub | Box | Pair | float


class Mapped(BaseModel):
    subs: dict[str, Sub]


class Rooted(BaseModel):
    numbers: Numbers


class Boxed(BaseModel):
    box: Box


class Paired(BaseModel):
    pair: Pair


class Free(BaseModel):
    model_config = ConfigDict(extra="allow")

    a: int = 1


GOOD: list[tuple[Any, list[str]]] = [
    (Nested, ['{"sub":{"x":1}}', '{"sub":{"x":1,"weight":null}}', '{"sub":{"x":1,"weight":0.0},"z":"a:b"}']),
    (Listed, ['{"subs":[]}', '{"subs":[{"x":1},{"x":2,"weight":-1e308}]}']),
    (Holes, ['{"subs":[null,{"x":1},null]}', '{"subs":[],"weights":[null,1.5],"rows":[null,[1.0],[]]}']),
    (Optional, ["{}", '{"sub":null}', '{"sub":{"x":1},"weight":2}']),
    (Filled, ['{"a":1}', '{"a":1,"sub":{"x":2}}', '{"a":1,"most":3.5,"wrong":1}', '{"a":1,"subs":[]}']),
    (Named, ['{"mass":1}', '{"weight":1}', '{"mass":1,"part":{"x":1}}']),
    (Mixed, ['{"either":{"x":1}}', '{"either":{"inside":{"x":1}}}', '{"either":{"left":{"x":1}}}', '{"either":1.5}']),
    (Mapped, ['{"subs":{}}', '{"subs":{"a":{"x":1},"b":{"x":1}}}']),
    (Rooted, ['{"numbers":[]}', '{"numbers":[1.5,2]}']),
    (Boxed, ['{"box":{"inside":{"x":1}}}']),
    (Paired, ['{"pair":{"left":{"x":1}}}', '{"pair":{"left":{"x":1},"right":2.0}}']),
    (Free, ['{"b":{"c":[1.5]}}']),
    (Tree, ['{"value":1}', '{"value":1,"children":[{"value":2,"children":[]}]}']),
    (Chain, ['{"value":1}', '{"value":1,"next":{"value":2,"next":null}}']),
    (Pair, ['{"left":{"x":1}}', '{"left":{"x":1},"right":2.0}']),
]  # fmt: skip

TWICE: list[tuple[Any, str]] = [
    (Nested, '{"sub":{"x":1,"x":2}}'),
    (Nested, '{"sub":{"x":1},"sub":{"x":2}}'),
    (Nested, '{"sub":{"x":1,"\\u0078":2}}'),
    (Listed, '{"subs":[{"x":1},{"x":1,"x":1}]}'),
    (Holes, '{"subs":[null,{"x":1,"x":1}]}'),
    (Holes, '{"subs":[null],"subs":[null]}'),
    (Optional, '{"sub":{"x":1},"sub":null}'),
    (Filled, '{"a":1,"a":2}'),
    (Filled, '{"a":1,"a":2,"a":3}'),
    (Filled, '{"a":1,"sub":{"x":1},"sub":{"x":1}}'),
    (Filled, '{"a":1,"sub":{"x":1,"x":1},"most":1.0}'),
    (Named, '{"mass":1,"mass":2}'),
    (Named, '{"mass":1,"part":{"x":1,"x":1}}'),
    (Mixed, '{"either":{"x":1,"x":2}}'),
    (Mixed, '{"either":{"inside":{"x":1,"x":2}}}'),
    (Mapped, '{"subs":{"a":{"x":1},"a":{"x":1}}}'),
    (Boxed, '{"box":{"inside":{"x":1}},"box":{"inside":{"x":1}}}'),
    (Boxed, '{"box":{"inside":{"x":1,"x":1}}}'),
    (Paired, '{"pair":{"left":{"x":1},"left":{"x":1}}}'),
    (Free, '{"b":1,"b":1}'),
    (Free, '{"b":{"c":1,"c":1}}'),
    (Tree, '{"value":1,"children":[{"value":2,"value":2}]}'),
    (Chain, '{"value":1,"next":{"value":2,"value":2}}'),
    (Pair, '{"left":{"x":1},"left":{"x":1}}'),
]


@pytest.mark.parametrize(("kind", "documents"), GOOD)
def test_t5_documents_of_common_types_are_accepted(kind: Any, documents: list[str]) -> None:
    arguments = arguments_of(kind)
    for document in [*documents, *documents]:
        assert arguments.parse("read", document.encode()) == TypeAdapter(kind).validate_json(document)


@pytest.mark.parametrize(("kind", "document"), TWICE)
def test_t5_duplicate_keys_in_common_types_are_refused(kind: Any, document: str) -> None:
    first, later = arguments_of(kind), arguments_of(kind)
    assert "twice" in refused(first, document)
    for each in next(documents for known, documents in GOOD if known is kind):
        later.parse("read", each.encode())
    assert "twice" in refused(later, document)


@pytest.mark.parametrize("token", NO_NUMBERS)
@pytest.mark.parametrize(("kind", "documents"), GOOD)
def test_t5_a_number_that_is_not_finite_is_refused_in_common_types(kind: Any, documents: list[str], token: str) -> None:
    arguments = arguments_of(kind)
    for document in documents:
        arguments.parse("read", document.encode())
        for number in ("1.5", "2.0", "-1e308", ":1", ":2"):
            spoilt = document.replace(number, f":{token}" if number[0] == ":" else token)
            if spoilt != document:
                refused(arguments, spoilt)


class Note(BaseModel):
    at: str
    text: str = ""
    values: dict[str, Any] = {}


@pytest.mark.parametrize(
    "document",
    [
        '{"at":"12:30","text":"a: b"}',
        r'{"at":"12\u003a30","text":"\\u003a"}',
        '{"at":"NaN","text":"Infinity: no number"}',
        r'{"\u0061t":"12:30"}',
        '{"at":"1","values":{"at":"a:b","values":[1.5,{"at":"::"}]}}',
    ],
)
def test_t5_colons_and_words_in_texts_are_no_keys_and_no_numbers(document: str) -> None:
    arguments = arguments_of(Note)
    expected = Note.model_validate_json(document)
    for _ in range(2):
        assert arguments.parse("read", document.encode()) == expected


@pytest.mark.parametrize(
    "document",
    [
        '{"at":"12:30","at":"12:30"}',
        r'{"at":"12\u003a30","text":"1","text":"2"}',
        r'{"at":"12\u003A30","text":"1","text":"2"}',
        r'{"at":"1","\u0061t":"2"}',
        '{"at":"1","values":{"a":1,"a":":"}}',
    ],
)
def test_t5_a_key_given_twice_is_found_beside_colons_in_texts(document: str) -> None:
    arguments = arguments_of(Note)
    for _ in range(2):
        assert "twice" in refused(arguments, document)


class Link(BaseModel):
    url: str
    seen: list[str] = []


@pytest.mark.parametrize("document", ['{"url":"https://callboard.example/"}', '{"url": "a:b", "seen": ["12:30"]}'])
def test_t5_a_document_with_colons_in_texts_is_not_read_again(document: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = arguments_of(Link)
    monkeypatch.setattr(
        "callboard.tools.typed_arguments.check_keys_and_numbers", lambda data: pytest.fail("it was read again")
    )
    for _ in range(2):
        assert arguments.parse("read", document.encode()) == Link.model_validate_json(document)


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\r"])
@pytest.mark.parametrize("text", ["12:30", ":", r"\":", ""])
def test_t5_a_key_given_twice_is_found_where_there_is_space_before_a_colon(space: str, text: str) -> None:
    arguments = arguments_of(Link)
    for document in (f'{{"url":"1","url"{space}:"{text}"}}', f'{{"url"{space}:"1","url"{space}:"{text}"}}'):
        for _ in range(2):
            assert "'url' twice" in refused(arguments, document)


texts = st.text(alphabet=':" \\\n{', max_size=4).map(json.dumps)


@given(st.lists(st.tuples(texts, st.sampled_from(["", "", " ", "\t", "\n", "\r"]), texts), max_size=5))
@settings(max_examples=300)
def test_t5_no_document_has_more_keys_than_were_seen(pairs: list[tuple[str, str, str]]) -> None:
    document = ",".join(f"{key}{space}:{value}" for key, space, value in pairs)
    seen = max_key_count(f"{{{document}}}".encode())
    assert seen == -1 or seen >= len(pairs)


# Types with code or settings of their own


class Computed(BaseModel):
    a: int
    b: int = 0

    def model_post_init(self, context: Any) -> None:
        self.b = self.a


class Made(BaseModel):
    a: int
    b: int = 0

    def __init__(self, **data: Any) -> None:
        super().__init__(**{**data, "b": 1})


class Shared(BaseModel):
    a: int = Field(alias="k")
    b: int = Field(alias="k")


class ByName(BaseModel):
    """A key that is the alias of one field and the name of the other fills both."""

    model_config = ConfigDict(populate_by_name=True)

    source: str = Field(alias="target")
    target: str = Field(alias="to")


class Names(BaseModel):
    held: list[ByName]


class Written(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    a: str


class Bound(Enum):
    NONE = float("inf")


class Bounded(BaseModel):
    bound: Bound


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        (Rooted, '{"numbers":[],"numbers":[1.5]}'),
        (Rooted, '{"numbers":[],"ignored":NaN}'),
        (Computed, '{"a":1,"a":2}'),
        (Made, '{"a":1,"a":2}'),
        (Shared, '{"k":1,"k":2}'),
        (ByName, '{"target":"a","target":"b"}'),
        (ByName, '{"target":"c:/a","target":"c:/b"}'),
        (Names, '{"held":[{"target":"a","target":"b"}]}'),
    ],
)
def test_t5_fields_that_no_key_was_given_for_hide_none_that_was_given_twice(kind: Any, document: str) -> None:
    refused(arguments_of(kind), document)


@pytest.mark.parametrize(("kind", "document"), [(Written, '{"a":NaN}'), (Bounded, '{"bound":Infinity}')])
def test_t5_a_number_that_is_not_finite_is_refused_for_every_type(kind: Any, document: str) -> None:
    refused(arguments_of(kind), document)
