// The TypeScript SDK's clients against a server with `client_tools`:
// `node drive.mjs URL v1|legacy|2026-07-28|tasks`. `v1` is the SDK's package before 2.0.
//
// It prints `restart`, and waits for a line, when the server should be killed and started again.

import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

const [url, mode] = process.argv.slice(2);
const VERSION = "2026-07-28";
const INFO = { name: "typescript", version: "1.0.0" };
const CAPABILITIES = { elicitation: { form: {} } };

const answer = async ({ params }) => ({
  action: "accept",
  content: "approved" in params.requestedSchema.properties ? { approved: true } : { colour: "red" },
});
const decline = async () => ({ action: "decline" });

/** Connect a client, whose user answers questions with the handler. */
async function connect(handler = answer) {
  const options = { capabilities: handler ? CAPABILITIES : {} };
  let client, Transport, request;
  if (mode === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    ({ StreamableHTTPClientTransport: Transport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js"));
    ({ ElicitRequestSchema: request } = await import("@modelcontextprotocol/sdk/types.js"));
    client = new Client(INFO, options);
  } else {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    [Transport, request] = [StreamableHTTPClientTransport, "elicitation/create"];
    const versionNegotiation = { mode: mode === "legacy" ? "legacy" : { pin: VERSION } };
    client = new Client(INFO, { ...options, versionNegotiation });
  }
  if (handler) client.setRequestHandler(request, handler);
  await client.connect(new Transport(new URL(url)));
  return client;
}

/** Run a function with a client, and close it. */
async function connected(run, handler = answer) {
  const client = await connect(handler);
  try {
    return await run(client);
  } finally {
    await client.close();
  }
}

/** Call a tool. The options differ: the second argument of version 1 is the schema of the result. */
function call(client, name, args = {}, options = {}) {
  const params = { name, arguments: args };
  return mode === "v1" ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

const text = (result) => result.content[0].text;

async function restart() {
  console.log("restart");
  await once(process.stdin, "data");
}

async function lateResult(client, execution_id) {
  const deadline = Date.now() + 60_000;
  while (text(await call(client, "task_result", { execution_id })) !== "built") {
    assert(Date.now() < deadline, "there is no result");
    await sleep(50);
  }
}

/** Use the tasks extension. The SDK's client cannot send its requests, so this function does. */
async function withTasks(run) {
  const { createTaskSessionFromClient } = await import("@modelcontextprotocol/ext-tasks/client");
  await connected(async (client) => {
    const rawDispatch = async (request) => {
      const name = request.params.name ?? request.params.taskId;
      const headers = {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": VERSION,
        "mcp-method": request.method,
        "mcp-name": name,
      };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...request });
      const received = await (await fetch(url, { method: "POST", headers, body })).text();
      const data = received.startsWith("{") ? received : received.match(/^data: (\{.*)$/m)[1];
      const { result, error } = JSON.parse(data);
      return error === undefined ? { kind: "result", result } : { kind: "error", error };
    };
    const session = createTaskSessionFromClient(client, {
      endpointId: "callboard",
      rawDispatch,
      v2RequestFraming: { protocolVersion: VERSION, clientInfo: INFO, clientCapabilities: CAPABILITIES },
      onInputRequest: (request) => answer(request),
    });
    try {
      await run(session);
    } finally {
      await session.close();
    }
  });
}

async function completed(execution) {
  const { outcome } = await execution.settle();
  assert.equal(outcome.status, "completed", JSON.stringify(outcome));
  return text(outcome.result);
}

const scenarios = {
  inline: () =>
    connected(async (client) => {
      const names = (await client.listTools()).tools.map((tool) => tool.name);
      for (const name of ["add", "build", "pay", "choose"]) assert(names.includes(name), name);
      assert.deepEqual((await call(client, "add", { a: 2, b: 3 })).structuredContent, { total: 5 });
      const broken = await call(client, "broken");
      assert(broken.isError && text(broken).includes("The shop is closed."));
    }),
  progress: () =>
    connected(async (client) => {
      const seen = [];
      const onprogress = ({ progress, total }) => seen.push([progress, total]);
      assert.equal(text(await call(client, "steps", {}, { onprogress })), "done");
      assert.deepEqual(seen, [[25, 100], [50, 100], [75, 100]]);
    }),
  cancel: () =>
    connected(async (client) => {
      const stop = new AbortController();
      const hanging = call(client, "hang", {}, { signal: stop.signal, onprogress: () => stop.abort() });
      await assert.rejects(hanging);
      assert.equal(text(await call(client, "stopped")), "stopped");
    }),
  human: async () => {
    await connected(async (client) => {
      assert.equal(text(await call(client, "pay", { amount: 5 })), "paid 5");
      assert.deepEqual(JSON.parse(text(await call(client, "choose", { question: "Which?" }))), { colour: "red" });
    });
    await connected(async (client) => assert((await call(client, "pay", { amount: 5 })).isError), decline);
    await connected(async (client) => {
      const waiting = JSON.parse(text(await call(client, "pay", { amount: 5 })));
      assert.equal(waiting.status, "waiting");
      assert(waiting.next_step.includes("requests answer"));
    }, null);
  },
  background: () =>
    connected(async (client) => {
      const told = JSON.parse(text(await call(client, "build", { seconds: 0.05 })));
      await lateResult(client, told.execution_id);
    }),
  tasks: async () => {
    if (mode !== "tasks") return;
    await withTasks(async (session) => {
      assert.equal(await completed(await session.callTool("add", { a: 2, b: 3 })), '{"total":5}');
      assert.equal(await completed(await session.callTool("build", { seconds: 0.05 })), "built");
      assert.equal(await completed(await session.callTool("pay", { amount: 5 })), "paid 5");
      assert.equal(await completed(await session.callTool("renovate")), "painted red");
      const execution = await session.callTool("build", { seconds: 600 });
      assert.equal((await session.task(execution.handle.taskId).snapshot()).status, "working");
      await execution.cancel();
      assert.equal((await execution.settle()).outcome.status, "cancelled");
    });
  },
  reconnect: async () => {
    if (mode === "tasks") {
      await withTasks(async (session) => {
        const execution = await session.callTool("build", { seconds: 0.5 });
        const reference = execution.serializeReference();
        await execution.detach();
        await restart();
        assert.equal(await completed(await session.resumeTask(reference)), "built");
      });
      return;
    }
    const client = await connect();
    const { execution_id } = JSON.parse(text(await call(client, "build", { seconds: 0.5 })));
    await restart();
    if (mode === VERSION) await lateResult(client, execution_id);
    else await assert.rejects(call(client, "add", { a: 2, b: 3 })); // the connection has ended with its server
    await client.close();
    await connected(async (again) =>
      assert.deepEqual((await call(again, "add", { a: 2, b: 3 })).structuredContent, { total: 5 }),
    );
  },
};

for (const [name, run] of Object.entries(scenarios)) {
  await run();
  console.log(`passed ${name}`);
}
process.exit(0);
