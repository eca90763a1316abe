"""S6: schemas are made once, kept, and never shared by accident."""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from callboard import Registry, Tool, tool
from callboard.schemas.dialects import DIALECTS


class Item(BaseModel):
    tags: Annotated[list[str], Field(description="Words")] = ["a"]


def make(name: str) -> Tool:
    @tool(name=name)
    def act(items: Annotated[list[Item], "Items"]) -> list[Item]:
        """Act."""
        return items

    return act


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note of every time that Pydantic makes a JSON schema."""
    calls: list[str] = []
    original = TypeAdapter[Any].json_schema

    def counted(self: TypeAdapter[Any], **options: Any) -> dict[str, Any]:
        calls.append(options.get("mode", "validation"))
        return original(self, **options)

    monkeypatch.setattr(TypeAdapter, "json_schema", counted)
    return calls


def test_s6_registering_makes_no_schema_and_listing_makes_each_once(generated: list[str]) -> None:
    registry = Registry(make(f"tool_{number}") for number in range(20))
    assert generated == []
    first = registry.snapshot().schemas("claude")
    assert generated == ["validation"] * 20
    second = registry.snapshot().schemas("claude")
    assert generated == ["validation"] * 20
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_s6_all_dialects_share_one_generation(generated: list[str]) -> None:
    made = make("act")
    for _ in range(3):
        for dialect in DIALECTS:
            made.schema(dialect)
    assert sorted(generated) == ["serialization", "validation"]


def test_s6_a_tool_registered_for_dialects_is_ready(generated: list[str]) -> None:
    registry = Registry([make("act")], dialects=DIALECTS)
    assert sorted(generated) == ["serialization", "validation"]
    for dialect in DIALECTS:
        registry.snapshot().schemas(dialect)
    assert len(generated) == 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_s6_schema_returns_a_copy(dialect: str) -> None:
    made = make("act")
    before = made.schema(dialect)
    _spoil(made.schema(dialect))
    assert made.schema(dialect) == before
    assert made.schema(dialect) is not made.schema(dialect)
    for other in DIALECTS:
        assert made.schema(other) == make("act").schema(other)


def test_s6_a_changed_copy_of_a_tool_has_its_own_schemas() -> None:
    made = make("act")
    assert made.schema("claude")["name"] == "act"
    assert made.with_(name="other").schema("claude")["name"] == "other"
    assert made.schema("claude")["name"] == "act"


def _spoil(value: Any) -> None:
    """Change everything inside."""
    if isinstance(value, dict):
        for child in value.values():
            _spoil(child)
        value["spoilt"] = True
    elif isinstance(value, list):
        for child in value:
            _spoil(child)
        value.append("spoilt")
