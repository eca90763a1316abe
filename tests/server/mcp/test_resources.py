"""Content, resources, prompts and completion through the SDK's client, in both eras."""

import asyncio
import json
from typing import Annotated, Any, Literal

import pytest
from mcp import Client, types
from mcp.server.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

from callboard import Runtime, ToolContext, tool
from callboard.content import Audio, BinaryResource, Content, Embedded, Image, Link, Text, TextResource, is_content
from callboard.protocols.mcp.pending_changes import PendingChanges
from callboard.sessions.session import live_session
from tests.server.conftest import serve, until
from tests.server.mcp.stage import ERAS, Gates, connected, text_of, tools

pytestmark = [pytest.mark.anyio]
both = pytest.mark.parametrize("era", ERAS)


@tool
async def picture() -> list[Content]:
    """Return content of every type."""
    page = TextResource(uri="test://page", text="A page.")
    return [
        Text(text="See:"),
        Image.of(b"\x89PNG", "image/png"),
        Audio.of(b"RIFF", "audio/wav"),
        Embedded(resource=page),
        Link(uri="test://page", name="page"),
    ]


@tool(usage="Only for numbers.", result_limit=100)
async def long(count: Annotated[int, "How many"]) -> list[int]:
    """Return many numbers."""
    return list(range(count))


@tool(as_prompt=True)
async def review(
    language: Annotated[Literal["Python", "PHP", "Rust"], "The language"], style: Annotated[str, "How"] = "short"
) -> str:
    """Review some code."""
    return f"Review this {language} code: {style}."


@tool(as_prompt=True)
async def ask_first(ctx: ToolContext) -> str:
    """Make a prompt from an answer."""
    return f"I like {(await ctx.call('choose', {'question': 'Which?'}))['colour']}."


@tool(resource="test://greeting")
async def greeting() -> str:
    """A greeting."""
    return "Hello."


@tool(resource="test://users/{name}/photo", mime_type="image/png")
async def photo(name: Annotated[Literal["ann", "bob"], "The user"]) -> BinaryResource:
    """A photo."""
    return BinaryResource.of("", name.encode(), "image/png")


def serving() -> Any:
    return serve(Runtime([*tools(Gates()), picture, long, review, ask_first, greeting, photo]))


def test_h4_only_content_is_content() -> None:
    assert all(map(is_content, (Image, list[Content], Text | Image, Content, list[Audio])))
    assert not any(map(is_content, (str, list[int], dict[str, Image], Image | str, None, Any)))


@both
async def test_h4_content_keeps_its_type(era: str) -> None:
    async with serving() as served, connected(served, era) as client:
        assert next(each for each in (await client.list_tools()).tools if each.name == "picture").output_schema is None
        result = await client.call_tool("picture", {})
    assert [each.type for each in result.content] == ["text", "image", "audio", "resource", "resource_link"]
    image = result.content[1]
    assert isinstance(image, types.ImageContent)
    assert (image.data, image.mime_type) == ("iVBORw==", "image/png")
    assert result.structured_content is None


@both
async def test_h4_resources_are_results_of_tools(era: str) -> None:
    async with serving() as served, connected(served, era) as client:
        listed = {each.uri: each for each in (await client.list_resources()).resources}
        templates = {each.uri_template: each for each in (await client.list_resource_templates()).resource_templates}
        assert {"test://greeting", "callboard://board"} == listed.keys()
        assert {"test://users/{name}/photo", "callboard://results/{execution_id}"} == templates.keys()
        (text,) = (await client.read_resource("test://greeting")).contents
        (image,) = (await client.read_resource("test://users/ann/photo")).contents
        assert isinstance(text, types.TextResourceContents)
        assert (text.uri, text.text, text.mime_type) == ("test://greeting", "Hello.", "text/plain")
        assert isinstance(image, types.BlobResourceContents)
        assert (image.uri, image.blob, image.mime_type) == ("test://users/ann/photo", "YW5u", "image/png")
        assert not {"greeting", "photo", "review"} & {each.name for each in (await client.list_tools()).tools}
        for uri in ("test://nothing", "test://users/eve/photo", "callboard://results/nothing"):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.code == types.INVALID_PARAMS


@both
async def test_h4_x12_whole_result_and_board_are_resources_of_the_session(era: str) -> None:
    async with serving() as served, connected(served, era) as client:
        cut = await client.call_tool("long", {"count": 1_000})
        assert len(text_of(cut)) < 1_000
        assert cut.structured_content == {"result": list(range(1_000))}
        board = (await client.read_resource("callboard://board")).contents[0]
        assert isinstance(board, types.TextResourceContents)
        events = [json.loads(line) for line in board.text.splitlines()]
        (started,) = [each["data"] for each in events if each["kind"] == "tool_started"]
        uri = f"callboard://results/{started['execution_id']}"
        whole = (await client.read_resource(uri)).contents[0]
        assert isinstance(whole, types.TextResourceContents)
        assert json.loads(whole.text) == list(range(1_000))
        async with connected(served, era, user="bob") as stranger:
            with pytest.raises(MCPError):
                await stranger.read_resource(uri)


@both
async def test_h4_changes_of_the_board_are_notified_to_subscribers(era: str) -> None:
    seen: list[Any] = []

    async def receive(message: Any) -> None:
        seen.append(message.method)

    async with serving() as served, connected(served, era, message_handler=receive) as client:
        if era == "legacy":
            subscribe = types.SubscribeRequest(params=types.SubscribeRequestParams(uri="callboard://board"))
            await client.session.send_request(subscribe, types.EmptyResult)
            await client.call_tool("add", {"a": 1, "b": 2})
            await until(lambda: "notifications/resources/updated" in seen)
        else:
            async with client.listen(resource_subscriptions=["callboard://board"]) as changes:
                await client.call_tool("add", {"a": 1, "b": 2})
                assert (await anext(aiter(changes))).uri == "callboard://board"  # pyright: ignore[reportAttributeAccessIssue]


async def test_h4_events_are_only_read_for_a_connection_that_is_subscribed_to_the_board() -> None:
    seen: list[str] = []

    async def receive(message: Any) -> None:
        seen.append(message.method)

    async def send(client: Client, request: types.SubscribeRequest | types.UnsubscribeRequest) -> None:
        await client.session.send_request(request, types.EmptyResult)
        await client.call_tool("add", {"a": 1, "b": 2})

    board = "callboard://board"
    async with serving() as served, connected(served, "legacy", message_handler=receive) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
        (session,) = served.runtime.sessions._cache
        await until(lambda: session.board.has_readers)  # so it stays in memory as long as the connection
        assert not session.board._readers
        await send(client, types.SubscribeRequest(params=types.SubscribeRequestParams(uri=board)))
        await until(lambda: "notifications/resources/updated" in seen)
        assert len(session.board._readers) == 1
        await send(client, types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=board)))
        assert not session.board._readers
        assert session.board.has_readers


async def test_h4_changes_that_come_before_they_are_read_are_notified_once() -> None:
    async with Runtime([long]) as runtime:
        session = await runtime.open("s1", "ann")
        pending = PendingChanges(live_session(session))
        pending.watch_board()
        await session.call("long", {"count": 1})
        await asyncio.sleep(0)
        pending.add(ToolsListChanged(), ToolsListChanged())
        changes = pending.read()
        assert await anext(changes) == ResourceUpdated(uri="callboard://board")
        assert await anext(changes) == ToolsListChanged()
        await session.call("long", {"count": 2})
        await asyncio.sleep(0)
        pending.leave_board()
        pending.add(ToolsListChanged())
        assert await anext(changes) == ToolsListChanged(), "a change of the board is not notified after its end"
        await changes.aclose()


@both
async def test_h4_prompts_are_results_of_tools_and_usage_rules(era: str) -> None:
    async with serving() as served, connected(served, era) as client:
        listed = {each.name: each for each in (await client.list_prompts()).prompts}
        assert listed.keys() == {"review", "ask_first", "usage_of_long"}
        arguments = listed["review"].arguments or []
        assert [(each.name, each.required) for each in arguments] == [("language", True), ("style", False)]

        async def text(name: str, arguments: dict[str, str] | None = None) -> str:
            (message,) = (await client.get_prompt(name, arguments)).messages
            assert isinstance(message.content, types.TextContent)
            return message.content.text

        assert await text("review", {"language": "Rust"}) == "Review this Rust code: short."
        assert await text("usage_of_long") == "Only for numbers."
        for name, given in (("nothing", {}), ("add", {}), ("usage_of_add", {}), ("review", {"language": "C"})):
            with pytest.raises(MCPError) as caught:
                await client.get_prompt(name, given)
            assert caught.value.code == types.INVALID_PARAMS


@both
async def test_h4_m3_prompt_asks_the_user(era: str) -> None:
    async def answer(*_: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"colour": "red"})

    async with serving() as served:
        async with connected(served, era, elicitation_callback=answer) as client:
            (message,) = (await client.get_prompt("ask_first")).messages
            assert "I like red." in str(message.content)
        async with connected(served, era) as client:
            with pytest.raises(MCPError, match="waits for a person"):
                await client.get_prompt("ask_first")


@both
async def test_h4_enumerated_arguments_are_completed(era: str) -> None:
    async with serving() as served, connected(served, era) as client:

        async def values(reference: Any, name: str, typed: str) -> list[str]:
            return (await client.complete(reference, {"name": name, "value": typed})).completion.values

        prompt = types.PromptReference(name="review")
        assert await values(prompt, "language", "p") == ["Python", "PHP"]
        assert await values(prompt, "style", "s") == []
        assert await values(types.PromptReference(name="nothing"), "style", "s") == []
        template = types.ResourceTemplateReference(uri="test://users/{name}/photo")
        assert await values(template, "name", "") == ["ann", "bob"]
