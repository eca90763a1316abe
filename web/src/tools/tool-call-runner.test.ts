import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import * as z from "zod";
import { ManualClock } from "../testing/manual-clock.ts";
import { ToolError } from "./errors.ts";
import { ToolCallRunner } from "./tool-call-runner.ts";
import { ToolExecutionManager } from "./tool-execution-manager.ts";
import type { ToolDefinition } from "./types.ts";

let clock: ManualClock;
let manager: ToolExecutionManager;
let runner: ToolCallRunner;
let seen: string[];

const signal = new AbortController().signal;
const call = (id: string) => ({ id, name: "t", argsText: "{}" });

function tool(handler: ToolDefinition["handler"]): ToolDefinition {
  return { name: "t", description: "T.", schema: z.object({}), metadata: { idempotent: true }, handler };
}

beforeEach(() => {
  clock = new ManualClock();
  seen = [];
  manager = new ToolExecutionManager(undefined, {}, { clock, random: () => 0.5, historyLimit: 0 });
  runner = new ToolCallRunner(manager, (event) => {
    const { toolCallId, status, attempt } = (event as CustomEvent<Record<string, unknown>>).detail;
    seen.push(
      [event.type.replace("ag-ui-tool-", ""), toolCallId, status ?? attempt]
        .filter((part) => part !== undefined)
        .join(" "),
    );
  });
});

test("tells each step of its own call, also if the manager keeps no history", async () => {
  let count = 0;
  const handler = () => {
    if ((count += 1) === 1) throw new ToolError("away", { category: "transient" });
    return "done";
  };
  const work = runner.carryOut(call("c1"), tool(handler), signal);
  await manager.execute(
    tool(() => ""),
    "of another agent",
    {},
  );
  await clock.advance(500);
  assert.equal((await work).content, "done");
  assert.deepEqual(seen, [
    "status-changed c1 pending",
    "status-changed c1 validating",
    "status-changed c1 executing",
    "retrying c1 1",
    "status-changed c1 executing",
    "status-changed c1 succeeded",
    "call-end c1",
  ]);
});

test("a call is carried out once, and its result can be asked for again", async () => {
  let count = 0;
  const counting = tool(() => `run ${(count += 1)}`);
  assert.equal(runner.has("c1"), false);
  const both = await Promise.all([
    runner.carryOut(call("c1"), counting, signal),
    runner.carryOut(call("c1"), counting, signal),
  ]);
  assert.deepEqual([both[0], count, runner.has("c1")], [both[1], 1, true]);
  assert.equal(await runner.carryOut(call("c1"), counting, signal), both[0]);
});

test("a failed call and a cancelled call end with an error", async () => {
  const failed = await runner.carryOut(
    call("c1"),
    tool(() => {
      throw new ToolError("no");
    }),
    signal,
  );
  assert.equal(failed.error, "no");
  const cancelled = await runner.carryOut(
    call("c2"),
    tool(() => ""),
    AbortSignal.abort(),
  );
  assert.match(cancelled.error ?? "", /cancelled/);
  assert.deepEqual(
    seen.filter((line) => line.startsWith("call-")),
    ["call-error c1", "call-error c2"],
  );
  assert.equal(seen.includes("status-changed c2 executing"), false);
});

test("kept results are bounded", async () => {
  for (let i = 0; i < 1_001; i++)
    await runner.carryOut(
      call(`c${i}`),
      tool(() => ""),
      signal,
    );
  assert.deepEqual([runner.has("c0"), runner.has("c1"), runner.has("c1000")], [false, true, true]);
});
