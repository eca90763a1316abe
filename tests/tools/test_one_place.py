"""Adding a tool is one definition; everything else is made from it (T3)."""

from typing import Annotated

import pytest

from callboard import Registry, tool
from callboard.schemas.dialects import DIALECTS

pytestmark = pytest.mark.anyio


@tool(
    namespace="shop",
    group="sales",
    tags=("money",),
    channels=("text", "voice"),
    renderers={"voice": lambda value: f"that is {value} euros"},
)
async def quote(pieces: Annotated[int, "How many"]) -> int:
    """Tell the price."""
    return pieces * 7


async def test_t3_one_definition_gives_schemas_manifest_groups_channels_renderers_and_calls() -> None:
    registry = Registry([quote])
    for dialect in DIALECTS:
        assert "quote" in str(quote.schema(dialect))
        assert "How many" in str(quote.schema(dialect))
    (entry,) = registry.manifest(DIALECTS)["tools"]
    assert (entry["namespace"], entry["group"], entry["tags"], entry["channels"]) == (
        "shop",
        "sales",
        ["money"],
        ["text", "voice"],
    )
    assert set(entry["schemas"]) == set(DIALECTS)
    assert registry.by_group("sales") == registry.by_tag("money") == registry.by_channel("voice") == (quote,)
    assert registry.by_channel("phone") == ()
    value = await registry.call("quote", {"pieces": 3})
    assert quote.render(value, "voice") == "that is 21 euros"
    assert quote.render(value, "text") == "21"
