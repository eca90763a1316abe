"""The operations of an API as tools: with documents of real services, and against a real server on loopback."""

import asyncio
import gzip
import json
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import pytest
from anyio.abc import SocketStream

from callboard import RegistrationError, Registry, Runtime, Tool, ToolError, dynamic_tool
from callboard.errors import SchemaError
from callboard.schemas.dialects import DIALECTS
from callboard.testing import ManualClock
from callboard.toolkits.http import Fetcher, Guard, Limits
from callboard.toolkits.openapi import OpenApiToolset, openapi_toolset
from tests.toolkits.test_http_fetch import Server, reply, server

__all__ = ["server"]
pytestmark = pytest.mark.anyio

DOCUMENTS = Path(__file__).parent / "openapi_documents"
LOOPBACK = Guard(allow=["127.0.0.0/8"])
SECRET = "s3cret"
BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}


def document(**changes: Any) -> dict[str, Any]:
    """A small API with every kind of parameter."""
    pet = {"$ref": "#/components/schemas/Pet"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pets"},
        "servers": [{"url": "https://pets.example/{v}", "variables": {"v": {"default": "v1"}}}],
        "security": [{"key": []}],
        "paths": {
            "/pets/{petId}": {
                "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}}],
                "get": {"operationId": "getPet", "summary": "Return a pet.", "tags": ["read"]},
                "put": {
                    "operationId": "putPet",
                    "tags": ["write"],
                    "requestBody": {"required": True, "content": {"application/json": {"schema": pet}}},
                },
                "delete": {"operationId": "deletePet", "tags": ["write"]},
            },
            "/pets": {
                "get": {
                    "operationId": "find-pets",
                    "tags": ["read"],
                    "parameters": [
                        {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                        {"name": "ids", "in": "query", "explode": False, "schema": {"type": "array"}},
                        {"name": "filter", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
                        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                        {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                        {"name": "sid", "in": "cookie", "schema": {"type": "string"}},
                    ],
                },
                "post": {
                    "operationId": "addPet",
                    "tags": ["write"],
                    "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": pet}}},
                },
            },
        },
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
            "schemas": {
                "Pet": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}, "friends": {"type": "array", "items": pet}},
                }
            },
        },
        **changes,
    }


def toolset_of(server: Server, **changes: Any) -> OpenApiToolset:
    secrets = changes.pop("secrets", {"key": SECRET})
    return openapi_toolset(document(**changes), server=server.url(""), secrets=secrets, guard=LOOPBACK)


async def call(toolset: OpenApiToolset, name: str, arguments: dict[str, Any]) -> Any:
    return await Registry(toolset.tools()).call(name, arguments)


async def refusal(toolset: OpenApiToolset, name: str, arguments: dict[str, Any]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await call(toolset, name, arguments)
    assert SECRET not in f"{caught.value.to_model()} {caught.value.report}"
    return caught.value


def by_name(toolset: OpenApiToolset) -> dict[str, Tool]:
    return {tool.name: tool for tool in toolset.tools()}


@pytest.mark.parametrize(("name", "count", "skipped"), [("discord", 239, 3), ("twilio", 57, 0), ("box", 294, 0)])
def test_k1_documents_of_real_services_become_tools(name: str, count: int, skipped: int) -> None:
    toolset = openapi_toolset(gzip.decompress((DOCUMENTS / f"{name}.json.gz").read_bytes()))
    tools = toolset.tools()
    assert (len(tools), len(toolset.skipped)) == (count, skipped)
    assert all("multipart/form-data" in reason for reason in toolset.skipped.values())
    names = [tool.name for tool in tools]
    assert len(set(names)) == count
    assert Registry(tools).names()
    refused: set[str] = set()
    for tool in tools:
        for dialect in DIALECTS:
            try:
                tool.schema(dialect)
            except SchemaError:  # such as a value of any type, which these two cannot express
                refused.add(dialect)
    assert refused <= {"openai-strict", "gemini"}


async def test_k1_parameters_go_where_the_document_says(server: Server) -> None:
    server.answers = {"/pets?tag=a&tag=b&ids=1%2C2&filter%5Bage%5D=3": reply("[]", content_type="application/json")}
    toolset = toolset_of(server)
    assert sorted(by_name(toolset)["find_pets"].schema("claude")["input_schema"]["properties"]) == [
        "X-Trace",
        "filter",
        "ids",
        "tag",
    ]
    arguments = {"tag": ["a", "b"], "ids": [1, 2], "filter": {"age": 3}, "X-Trace": "t1"}
    assert await call(toolset, "find_pets", arguments) == []
    assert parse_qsl(urlsplit(server.paths[-1]).query)[0] == ("tag", "a")
    assert (server.header("x-trace"), server.header("x-key")) == ("t1", SECRET)


@pytest.mark.parametrize(
    ("fields", "value", "query"),
    [
        ({"style": "pipeDelimited"}, ["a", "b"], "p=a%7Cb"),
        ({"style": "spaceDelimited"}, ["a", "b"], "p=a+b"),
        ({"style": "pipeDelimited", "explode": True}, ["a", "b"], "p=a&p=b"),
        ({"style": "form"}, ["a", "b"], "p=a&p=b"),
        ({"content": {"application/json": {}}}, {"a": [1]}, "p=%7B%22a%22%3A+%5B1%5D%7D"),
        ({"content": {"application/json": {}}}, ["a"], "p=%5B%22a%22%5D"),
    ],
)
async def test_k1_parameters_are_written_as_the_standard_says(
    server: Server, fields: dict[str, Any], value: Any, query: str
) -> None:
    kind = "array" if isinstance(value, list) else "object"
    stated = {} if "content" in fields else {"schema": {"type": kind}}
    parameter = {"name": "p", "in": "query", "description": "P", **stated, **fields}
    server.answers = defaultdict(lambda: reply("fine"))
    toolset = toolset_of(server, paths={"/x": {"get": {"operationId": "x", "parameters": [parameter]}}})
    await call(toolset, "x", {"p": value})
    assert server.paths == [f"/x?{query}"]


async def test_k1_arguments_have_names_that_models_accept(server: Server) -> None:
    names = ["start<", "start", "start>", "$top", "page[size]", "日本", "x" * 70, "_id"]
    parameters = [{"name": name, "in": "query", "description": "D", "schema": {"type": "string"}} for name in names]
    server.answers = defaultdict(lambda: reply("fine"))
    toolset = toolset_of(server, paths={"/x": {"get": {"operationId": "x", "parameters": parameters}}})
    properties = by_name(toolset)["x"].arguments.schema()["properties"]
    assert list(properties) == ["start_2", "start", "start_3", "top", "page_size", "query", "x" * 56, "_id"]
    assert (properties["top"]["description"], properties["start"]["description"]) == ("D (sent as `$top`)", "D")
    await call(toolset, "x", {"start": "1", "start_3": "2", "page_size": "3"})
    assert server.paths == ["/x?start=1&start%3E=2&page%5Bsize%5D=3"]


async def test_k1_bodies_are_json_or_forms(server: Server) -> None:
    server.answers = {"/pets/a%2Fb": reply(status="204 No Content"), "/pets": reply("made")}
    toolset = toolset_of(server)
    assert await call(toolset, "put_pet", {"petId": "a/b", "body": {"name": "Rex"}}) is None
    assert server.requests[-1].startswith(b"PUT /pets/a%2Fb ")
    assert json.loads(server.requests[-1].partition(b"\r\n\r\n")[2]) == {"name": "Rex"}
    assert await call(toolset, "add_pet", {"body": {"name": "Rex & Co", "friends": []}}) == "made"
    assert server.requests[-1].partition(b"\r\n\r\n")[2] == b"name=Rex+%26+Co"
    assert (await refusal(toolset, "put_pet", {"petId": "x", "body": {"friends": [{"name": 1}]}})).category == (
        "validation"
    )


async def test_k1_methods_decide_whether_a_call_may_be_repeated(server: Server) -> None:
    tools = by_name(toolset_of(server))
    assert {name for name, tool in tools.items() if tool.idempotent} == {
        "get_pet",
        "put_pet",
        "delete_pet",
        "find_pets",
    }
    server.answers = {"/pets": reply("x")}
    async with Runtime(tools.values()) as runtime:
        session = await runtime.open("s", "u")
        await session.call("add_pet", {"body": {"name": "a"}})
        assert server.header("idempotency-key")


@pytest.mark.parametrize("name", ["..", ".", ""])
async def test_k1_a_value_cannot_lead_to_another_path(server: Server, name: str) -> None:
    assert (await refusal(toolset_of(server), "get_pet", {"petId": name})).category == "validation"
    assert server.requests == []


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ({"type": "apiKey", "in": "header", "name": "X-Key"}, ("x-key", SECRET)),
        ({"type": "apiKey", "in": "cookie", "name": "sid"}, ("cookie", f"sid={SECRET}")),
        ({"type": "http", "scheme": "bearer"}, ("authorization", f"Bearer {SECRET}")),
        ({"type": "http", "scheme": "Basic"}, ("authorization", "Basic czNjcmV0")),
        ({"type": "oauth2", "flows": {}}, ("authorization", f"Bearer {SECRET}")),
    ],
)
async def test_k1_secrets_come_from_the_settings(
    server: Server, scheme: dict[str, Any], expected: tuple[str, str]
) -> None:
    server.answers = {"/pets/1": reply("{}", content_type="application/json")}
    toolset = toolset_of(server, components={"securitySchemes": {"key": scheme}, "schemas": {"Pet": {}}})
    await call(toolset, "get_pet", {"petId": "1"})
    assert server.header(expected[0]) == expected[1]


async def test_k1_a_configured_secret_is_used_where_credentials_are_optional(server: Server) -> None:
    server.answers = {"/pets/1": reply("{}", content_type="application/json")}
    await call(toolset_of(server, security=[{}, {"key": []}]), "get_pet", {"petId": "1"})
    assert server.header("x-key") == SECRET
    await call(toolset_of(server, security=[{}, {"key": []}], secrets={}), "get_pet", {"petId": "1"})
    assert server.header("x-key") is None


async def test_k1_a_missing_secret_is_a_matter_of_configuration(server: Server) -> None:
    error = await refusal(toolset_of(server, secrets={}), "get_pet", {"petId": "1"})
    assert error.category == "configuration"
    assert "needs a secret for key" in str(error.report)
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "category"),
    [
        ("400 Bad", "validation"),
        ("401 No", "configuration"),
        ("403 No", "permission"),
        ("404 No", "not_found"),
        ("409 Conflict", "permanent"),
        ("422 No", "validation"),
        ("429 Slow", "rate_limited"),
        ("500 Broken", "transient"),
        ("504 Late", "timeout"),
    ],
)
async def test_k1_an_error_status_is_an_error_with_the_reason(server: Server, status: str, category: str) -> None:
    problem = json.dumps({"detail": "the pet  sleeps", "trace": "x" * 5_000})
    server.answers = {"/pets/1": reply(problem, status, content_type="application/problem+json", retry_after="3")}
    error = await refusal(toolset_of(server), "get_pet", {"petId": "1"})
    assert error.category == category
    assert error.message.endswith("It says: the pet sleeps")
    assert error.retry_after == 3.0


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other"])
async def test_k1_a_redirect_of_a_post_to_a_list_is_not_its_success(server: Server, status: str) -> None:
    server.answers = {
        "/pets": reply(status=status, location=f"http://user:pass@127.0.0.1:{server.port}/pets/?key={SECRET}"),
        f"/pets/?key={SECRET}": reply("[]", content_type="application/json"),
    }
    error = await refusal(toolset_of(server), "add_pet", {"body": {"name": "Rex"}})
    assert server.paths == ["/pets"]
    assert error.category == "permanent"
    assert f"redirects to {server.url('/pets/')} (status {status[:3]})" in error.message
    assert "pass" not in error.message
    for location in ("", "http://[half/"):
        server.answers["/pets"] = reply(status=status, location=location)
        error = await refusal(toolset_of(server), "add_pet", {"body": {"name": "Rex"}})
        assert error.message == f"The service answered with status {status[:3]}."


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r'{"name": "party \ud83c"}', {"name": "party \ufffd"}),
        (r'{"\uDF89": ["\\ud83c", "\udf89\ud83c", "a\u0000"]}', {"\ufffd": ["\\ud83c", "\ufffd" * 2, "a\0"]}),
        (r'{"\ud83c\udf89": 1}', {"🎉": 1}),
        ('{"a": NaN, "b": -Infinity, "c": 1e400, "d": 1.5}', {"a": None, "b": None, "c": None, "d": 1.5}),
    ],
)
async def test_k1_an_answer_with_invalid_values_is_repaired(server: Server, body: str, expected: Any) -> None:
    server.answers = {"/pets": reply(body, content_type="application/json")}
    async with Runtime(toolset_of(server).tools()) as runtime:
        session = await runtime.open("s", "u")
        outcome = await session.call("add_pet", {"body": {"name": "a"}})
        assert (outcome.error, outcome.value) == (None, expected)


async def test_k1_a_text_that_was_cut_says_so(server: Server) -> None:
    server.answers = {"/pets/1": reply("row,1\n" * 5, content_type="text/csv")}
    toolset = openapi_toolset(
        document(), server=server.url(""), secrets={"key": SECRET}, guard=LOOPBACK, limits=Limits(max_bytes=12)
    )
    cut = "[This answer is not complete. The body is truncated after 12 bytes.]\n\nrow,1\nrow,1\n"
    assert await call(toolset, "get_pet", {"petId": "1"}) == cut
    server.answers = {"/pets/1": reply(json.dumps(["x" * 20]), content_type="application/json")}
    error = await refusal(toolset, "get_pet", {"petId": "1"})
    assert error.category == "permanent"
    assert "truncated after 12 bytes. If it is too large, ask for less" in error.message


@pytest.mark.parametrize("kind", ["application/json", "text/csv"])
async def test_k1_an_answer_that_broke_off_is_requested_again_if_that_is_safe(server: Server, kind: str) -> None:
    broken = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 500\r\n\r\n[1,2".encode()
    server.answers = {"/pets/1": broken, "/pets": broken}
    clock, categories, ended = ManualClock(), list[str](), 0
    async with Runtime(toolset_of(server).tools(), clock=clock) as runtime:
        session = await runtime.open("s", "u")
        calls = [
            asyncio.ensure_future(session.call("get_pet", {"petId": "1"})),
            asyncio.ensure_future(session.call("add_pet", {"body": {"name": "Rex"}})),
        ]
        async with asyncio.timeout(60):
            async for event in session.events():
                if event.kind == "tool_retrying":
                    categories.append(event.data["error"]["category"])
                    await clock.advance(10.0)
                elif event.kind == "tool_result":
                    ended += 1
                    if ended == len(calls):
                        break
        errors = [str((await call).error) for call in calls]
    assert categories == ["transient"] * 2
    assert (server.paths.count("/pets/1"), server.paths.count("/pets")) == (3, 1)
    assert ["check that before you repeat it" in error for error in errors] == [False, True]


async def test_k1_an_answer_that_is_too_slow_is_a_timeout(server: Server) -> None:
    async def stall(stream: SocketStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[1,2")
        await anyio.sleep_forever()

    server.answers = {"/pets/1": stall}
    limits = Limits(total_seconds=0.5)
    options: dict[str, Any] = {"server": server.url(""), "secrets": {"key": SECRET}, "guard": LOOPBACK}
    error = await refusal(openapi_toolset(document(), limits=limits, **options), "get_pet", {"petId": "1"})
    assert error.category == "timeout"


async def test_k1_hostile_answers_harm_nothing(server: Server) -> None:
    toolset = toolset_of(server)
    for body, kind in (("[" * 100_000, "application/json"), ("{", "application/json")):
        server.answers = {"/pets/1": reply(body, content_type=kind)}
        assert (await refusal(toolset, "get_pet", {"petId": "1"})).category == "permanent"
    server.answers = {"/pets/1": reply("x" * 100_000, "400 No")}
    assert len((await refusal(toolset, "get_pet", {"petId": "1"})).message) < 600


async def test_k1_a_call_may_take_as_long_as_its_timeout(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Limits | None] = []

    class Recorded(Fetcher):
        def __init__(self, *, limits: Limits | None = None, **options: Any) -> None:
            made.append(limits)
            super().__init__(limits=limits, **options)

    monkeypatch.setattr("callboard.toolkits.openapi.toolset.Fetcher", Recorded)
    server.answers = {"/pets/1": reply("{}", content_type="application/json")}
    options: dict[str, Any] = {"server": server.url(""), "secrets": {"key": SECRET}, "guard": LOOPBACK}
    await call(openapi_toolset(document(), timeout=300.0, **options), "get_pet", {"petId": "1"})
    own = Limits(total_seconds=5.0)
    await call(openapi_toolset(document(), timeout=300.0, limits=own, **options), "get_pet", {"petId": "1"})
    assert made == [Limits(total_seconds=300.0), own]


async def test_k1_tags_and_paths_choose_operations() -> None:
    assert set(by_name(openapi_toolset(document(), tags=["read"]))) == {"get_pet", "find_pets"}
    assert set(by_name(openapi_toolset(document(), paths="^/pets$"))) == {"find_pets", "add_pet"}


async def test_k1_a_document_at_a_url_is_loaded_when_the_toolset_is_entered(server: Server) -> None:
    relative = json.dumps(document(servers=[{"url": "/v2"}]))
    server.answers = {
        "/docs/openapi.json": reply(relative, content_type="application/json"),
        "/v2/pets/1": reply('{"name": "Rex"}', content_type="application/json"),
    }
    toolset = openapi_toolset(server.url("/docs/openapi.json"), secrets={"key": SECRET}, guard=LOOPBACK)
    assert toolset.tools() == ()
    async with toolset:
        assert await call(toolset, "get_pet", {"petId": "1"}) == {"name": "Rex"}
    with pytest.raises(ToolError):  # without a guard for it, a private network is refused
        async with openapi_toolset(server.url("/docs/openapi.json")):
            pass


async def test_k1_tools_of_a_loaded_document_are_made_in_a_thread(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()

    def recorded(*arguments: Any, **options: Any) -> Tool:
        threads.add(threading.get_ident())
        return dynamic_tool(*arguments, **options)

    monkeypatch.setattr("callboard.toolkits.openapi.toolset.dynamic_tool", recorded)
    server.answers = {"/openapi.json": reply(json.dumps(document()), content_type="application/json")}
    async with openapi_toolset(server.url("/openapi.json"), guard=LOOPBACK) as toolset:
        assert len(toolset.tools()) == 5
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"swagger": "2.0"}, "Swagger 2.0"),
        ({"openapi": "4.0"}, "OpenAPI 4.0"),
        ("openapi: 3.1.0", "YAML"),
        ("[" * 100_000, "not a JSON object"),
        ({"openapi": "3.1.0", "paths": {}}, "names no server"),
    ],
)
def test_k1_a_document_that_cannot_be_used_is_refused(source: Any, message: str) -> None:
    with pytest.raises(RegistrationError, match=message):
        openapi_toolset(source)


def test_k1_hostile_documents_lose_only_their_own_operations() -> None:
    loop = {"$ref": "#/components/parameters/loop"}
    paths = {
        "/loop": {"get": {"operationId": "loop", "parameters": [loop]}},
        "/away": {"get": {"operationId": "away", "parameters": [{"$ref": "https://evil.example/x"}]}},
        "/{missing}": {"get": {"operationId": "missing"}},
        "/wrong": {"get": {"operationId": "wrong", "parameters": "none"}},
        "/fine": {"get": {"operationId": "fine"}},
        "/same": {"get": {"operationId": "fine"}},
        "/elsewhere": {"$ref": "./elsewhere.yaml"},
        "/search": {"get": {"operationId": "search", "requestBody": {"required": True, **BODY}}},
        "/list": {"get": {"operationId": "list", "requestBody": BODY}},
    }
    toolset = openapi_toolset(document(paths=paths, components={"parameters": {"loop": loop}}))
    assert [tool.name for tool in toolset.tools()] == ["fine", "fine_2", "list"]
    assert "body" not in by_name(toolset)["list"].arguments.schema()["properties"]
    assert len(toolset.skipped) == 6


def test_k1_old_keywords_are_translated() -> None:
    old = {
        "type": "integer",
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 9,
        "exclusiveMaximum": False,
        "nullable": True,
    }
    parameter = {"name": "n", "in": "query", "schema": old}
    paths = {"/x": {"get": {"operationId": "x", "parameters": [parameter]}}}
    [tool] = openapi_toolset(document(openapi="3.0.3", paths=paths)).tools()
    schema = tool.arguments.schema()["properties"]["n"]
    assert schema == {"type": ["integer", "null"], "exclusiveMinimum": 0, "maximum": 9, "description": "N"}


def arguments_of(body: dict[str, Any], schemas: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The schema of the arguments of an operation with a body."""
    operation = {"operationId": "x", "requestBody": {"content": {"application/json": {"schema": body}}}}
    paths = {"/x": {"post": operation}, **changes.pop("paths", {})}
    toolset = openapi_toolset(document(paths=paths, components={"schemas": schemas}, **changes), paths="^/x$")
    assert toolset.skipped == {}
    return by_name(toolset)["x"].arguments.schema()


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_k1_properties_that_are_named_like_keywords_survive(version: str) -> None:
    names = ["example", "deprecated", "x-color", "nullable", "properties", "$ref", "default", "enum", "readOnly"]
    thing = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    made = arguments_of({**thing, "default": {"x-color": "red"}}, {}, openapi=version)["properties"]["body"]
    assert {name: each["type"] for name, each in made["properties"].items()} == dict.fromkeys(names, "string")
    assert (made["required"], made["default"]) == (names, {"x-color": "red"})


def test_k1_references_with_the_same_last_part_lead_to_different_schemas() -> None:
    """Documents that a bundler made refer to the place where a schema was used first."""
    parameters = [{"name": "size", "in": "query", "description": "S", "schema": {"type": "integer"}}]
    paths = {"/a/{b}": {"get": {"parameters": [*parameters, {"name": "b", "in": "path"}]}}}
    body = {
        "type": "object",
        "properties": {
            "name": {"$ref": "#/components/schemas/schema"},
            "size": {"$ref": "#/paths/~1a~1%7Bb%7D/get/parameters/0/schema"},
        },
    }
    made = arguments_of(body, {"schema": {"type": "string"}}, paths=paths)
    found = made["properties"]["body"]["properties"]
    kinds = {name: made["$defs"][each["$ref"].removeprefix("#/$defs/")]["type"] for name, each in found.items()}
    assert kinds == {"name": "string", "size": "integer"}


def test_k1_read_only_properties_are_not_arguments() -> None:
    thing = {
        "type": "object",
        "properties": {"id": {"type": "integer", "readOnly": True}, "name": {"type": "string"}},
        "required": ["id", "name"],
    }
    made = arguments_of({"$ref": "#/components/schemas/Thing"}, {"Thing": thing})["$defs"]["Thing"]
    assert (list(made["properties"]), made["required"]) == (["name"], ["name"])
