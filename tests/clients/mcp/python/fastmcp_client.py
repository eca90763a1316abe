# pyright: basic, reportMissingImports=false
"""FastMCP's client against a server with `client_tools`: `python fastmcp_client.py URL legacy|2026-07-28|tasks`.

It prints `restart`, and waits for a line, when the server should be killed and started again.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.exceptions import ToolError

URL, MODE = sys.argv[1:]
if MODE == "tasks":
    from fastmcp_tasks import call_tool_task  # from now on clients declare the extension


async def answer(message, response_type, params, context):
    """Answer as the user: approve, and choose red."""
    return {"approved": True} if "approved" in params.requested_schema["properties"] else {"colour": "red"}


async def decline(message, response_type, params, context):
    from fastmcp.client.elicitation import ElicitResult

    return ElicitResult(action="decline")


def connect(elicitation=answer):
    era = "legacy" if MODE == "legacy" else "2026-07-28"
    return Client(URL, mode=era, elicitation_handler=elicitation, timeout=90)


def text(result):
    return result.content[0].text


async def restart():
    print("restart", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


async def inline():
    async with connect() as client:
        assert {"add", "build", "pay", "choose"} <= {tool.name for tool in await client.list_tools()}
        assert (await client.call_tool("add", {"a": 2, "b": 3})).structured_content == {"total": 5}
        try:
            await client.call_tool("broken")
        except ToolError as error:
            assert "The shop is closed." in str(error)
        else:
            raise AssertionError("no error")


async def progress():
    seen = []

    async def note(progress, total, message):
        seen.append((progress, total, message))

    async with connect() as client:
        assert text(await client.call_tool("steps", progress_handler=note)) == "done"
    assert [each[:2] for each in seen] == [(25, 100), (50, 100), (75, 100)], seen


async def cancel():
    async with connect() as client:
        hanging = asyncio.Event()

        async def note(progress, total, message):
            hanging.set()

        call = asyncio.create_task(client.session.call_tool("hang", {}, progress_callback=note))
        await asyncio.wait_for(hanging.wait(), 20)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert text(await client.call_tool("stopped")) == "stopped"


async def human():
    async with connect() as client:
        assert text(await client.call_tool("pay", {"amount": 5})) == "paid 5"
        assert json.loads(text(await client.call_tool("choose", {"question": "Which?"}))) == {"colour": "red"}
    async with connect(decline) as client:
        refused = await client.call_tool("pay", {"amount": 5}, raise_on_error=False)
        assert refused.is_error
    async with connect(None) as client:
        if MODE != "tasks":
            waiting = json.loads(text(await client.call_tool("pay", {"amount": 5})))
            assert waiting["status"] == "waiting", waiting
            assert "requests answer" in waiting["next_step"]


async def late_result(client, execution_id):
    async with asyncio.timeout(60):
        while True:
            told = text(await client.call_tool("task_result", {"execution_id": execution_id}))
            if told == "built":
                return
            await asyncio.sleep(0.05)


async def background():
    async with connect() as client:
        if MODE == "tasks":
            assert text(await client.call_tool("build", {"seconds": 0.05})) == "built"
            return
        told = json.loads(text(await client.call_tool("build", {"seconds": 0.05})))
        await late_result(client, told["execution_id"])


async def tasks():
    if MODE != "tasks":
        return
    async with connect() as client:
        task = await call_tool_task(client, "build", {"seconds": 600})
        assert (await task.status()).status == "working"
        await task.cancel()
        assert (await task.wait(timeout=90)).status == "cancelled"
        assert text(await client.call_tool("renovate")) == "painted red"


async def reconnect():
    async with connect() as client:
        if MODE == "tasks":
            task = await call_tool_task(client, "build", {"seconds": 0.5})
        else:
            execution_id = json.loads(text(await client.call_tool("build", {"seconds": 0.5})))["execution_id"]
        await restart()
        if MODE == "tasks":
            assert text(await task.result()) == "built"
        elif MODE != "legacy":
            await late_result(client, execution_id)
        else:
            try:
                await client.call_tool("add", {"a": 2, "b": 3})
            except Exception as error:
                print("The connection has ended with its server:", repr(error), file=sys.stderr)
            else:
                raise AssertionError("the connection outlived its server")
    async with connect() as client:
        assert (await client.call_tool("add", {"a": 2, "b": 3})).structured_content == {"total": 5}


async def main():
    for scenario in (inline, progress, cancel, human, background, tasks, reconnect):
        async with asyncio.timeout(90):
            await scenario()
        print("passed", scenario.__name__, flush=True)


asyncio.run(main())
