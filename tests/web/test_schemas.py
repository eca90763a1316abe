"""The JSON schemas of browser tools: the server's default form, made by the other language."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from callboard.schemas.clean import clean
from callboard.schemas.dialects import DIALECTS
from callboard.tools.front_end import FrontEndTool, front_end_tools
from callboard.tools.schema_arguments import SchemaArguments
from scripts import assets
from tests.conftest import without
from tests.servers import Unavailable

WEB = Path(__file__).parents[2] / "web"
SCHEMAS = {
    "plain": 'z.object({ a: z.string().describe("A"), b: z.int().min(1), c: z.boolean().default(true) })',
    "nullable": "z.object({ a: z.string().nullable(), b: z.object({ c: z.number().nullish() }).nullable() })",
    "unions": 'z.object({ a: z.union([z.string(), z.number(), z.null()]), b: z.enum(["x", "y"]).nullable() })',
    "discriminated": 'z.object({ a: z.discriminatedUnion("k", [z.object({ k: z.literal("x") }), z.object({ k: z.literal("y") })]) })',  # noqa: E501
    "lists": "z.object({ a: z.array(z.array(z.int())), b: z.tuple([z.string(), z.int()]), c: z.array(z.any()) })",
    "maps": "z.object({ a: z.record(z.string(), z.object({ n: z.number() })) })",
    "shared": "(() => { const s = z.object({ n: z.string() }).meta({ id: 'S', title: 'S' }); return z.object({ a: s, b: s }); })()",  # noqa: E501
    "strict": "z.strictObject({ title: z.string() })",
    "empty": "z.object({})",
}
RECURSIVE = """(() => {
  const t = z.object({ n: z.string(), get kids() { return z.array(t); } });
  return z.object({ t });
})()"""


def run_in_node(source: str) -> Any:
    """Run a script, and return what it writes as JSON."""
    try:
        node = assets.prepared_node()
    except assets.BuildError as error:
        without("Node", Unavailable(str(error)))
    command = [node, "--input-type=module-typescript", "-e", source]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, Any]]:
    """The schemas as the page sends them."""
    source = "import * as z from 'zod'; import { parametersOf } from './src/tools/tool-schema.ts';"
    entries = ", ".join(f"{name}: parametersOf('t', {schema})" for name, schema in {**SCHEMAS, "r": RECURSIVE}.items())
    return run_in_node(f"{source} console.log(JSON.stringify({{ {entries} }}));")


@pytest.fixture(scope="module")
def shipped() -> list[dict[str, Any]]:
    """The definitions of the tools that ship with the page, as it sends them."""
    source = "import { pageToolDefinitions } from './src/page-tools/index.ts';"
    return run_in_node(f"{source} console.log(JSON.stringify(pageToolDefinitions()));")


@pytest.mark.parametrize("name", SCHEMAS)
def test_w2_server_has_nothing_to_clean_in_the_schemas_of_browser_tools(
    made: dict[str, dict[str, Any]], name: str
) -> None:
    assert clean(made[name]) == made[name]


def test_w2_server_validates_with_a_recursive_schema_of_a_browser_tool(made: dict[str, dict[str, Any]]) -> None:
    arguments = SchemaArguments(made["r"], lax=False)
    tree = {"t": {"n": "a", "kids": [{"n": "b", "kids": []}]}}
    assert arguments.parse("t", json.dumps(tree).encode()) == tree


def test_w2_server_accepts_the_tools_that_ship_with_the_page_as_they_are(shipped: list[dict[str, Any]]) -> None:
    tools = front_end_tools([FrontEndTool(**each) for each in shipped])
    assert len(tools) == 5
    for tool, each in zip(tools, shipped, strict=True):
        assert tool.input_schema == each["parameters"]
        for dialect in DIALECTS:
            tool.schema(dialect)
