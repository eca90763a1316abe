import assert from "node:assert/strict";
import { test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { calls, type Script, says, ScriptedAgent } from "../testing/scripted-agent.ts";
import { settle } from "../testing/manual-clock.ts";
import { AgentRun } from "./agent-run.ts";
import { helloTool } from "./hello-tool.ts";
import { ToolCallRunner } from "./tool-call-runner.ts";
import { ToolExecutionManager } from "./tool-execution-manager.ts";
import { ToolRegistry } from "./tool-registry.ts";

function made(...scripts: Script[]) {
  const remote = new ScriptedAgent(...scripts);
  const client = new HttpAgent({ url: "/ag-ui", fetch: remote.fetch });
  const events: string[] = [];
  const dispatch = (event: Event) => events.push(event.type);
  const registry = new ToolRegistry();
  registry.register(helloTool);
  const runner = new ToolCallRunner(new ToolExecutionManager(), dispatch);
  const run = new AgentRun({
    client,
    registry,
    runner,
    dispatch: (event) => void dispatch(event),
    streamedCalls: new Set(),
  });
  return { run, remote, client, events, registry };
}

test("context and properties go with every round, answers to interrupts with the first only", async () => {
  const { run, remote } = made(
    () => calls("c1", "hello", { name: "Ada" }),
    () => says("Done."),
  );
  const resume = [{ interruptId: "i", status: "cancelled" as const }];
  await run.carryOut({ resume, forwardedProps: { a: 1 } });
  assert.deepEqual(
    remote.runs.map((input) => [input.resume, input.forwardedProps]),
    [
      [resume, { a: 1 }],
      [undefined, { a: 1 }],
    ],
  );
});

test("a tool that is registered during a run is lent with the next round", async () => {
  const { run, remote, registry } = made(
    () => {
      registry.register({ ...helloTool, name: "later" });
      return calls("c1", "hello", { name: "Ada" });
    },
    () => says("Done."),
  );
  await run.carryOut({});
  assert.deepEqual(
    remote.runs.map(({ tools }) => tools.map(({ name }) => name)),
    [["hello"], ["hello", "later"]],
  );
});

test("the agent's own cancellation is not an error", async () => {
  const { run, events } = made(() => [{ type: "RUN_FINISHED", outcome: { type: "cancelled" } }]);
  assert.deepEqual(await run.carryOut({}), { outcome: "cancelled" });
  assert.deepEqual(
    events.filter((type) => type.startsWith("ag-ui-run")),
    ["ag-ui-run-started", "ag-ui-run-finished"],
  );
});

test("a call that waits can be carried out before the run", async () => {
  const { run, remote, client } = made(() => says("Done."));
  await run.execute({ id: "c1", name: "hello", argsText: '{"name":"Ada"}' }, helloTool);
  assert.equal(client.messages.at(-1)?.role, "tool");
  assert.deepEqual(await run.carryOut({}), { outcome: "success" });
  assert.deepEqual(remote.sent(0), [["tool", "Hello, Ada!"]]);
});

test("an aborted run stays aborted", async () => {
  const { run } = made(() => calls("c1", "hello", { name: "Ada" }));
  const work = run.carryOut({});
  run.abort();
  assert.deepEqual([await work, run.isAborted], [{ outcome: "aborted" }, true]);
});

test("an abort does not wait for a request that ignores it", async () => {
  const { run, client, events } = made();
  client.fetch = async () => new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } });
  const work = run.carryOut({});
  await settle();
  run.abort();
  assert.deepEqual([await work, events], [{ outcome: "aborted" }, ["ag-ui-messages-changed"]]);
});
