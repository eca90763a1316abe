import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { ManualClock } from "../testing/manual-clock.ts";
import { ToolError } from "./errors.ts";
import { isTerminal, TRANSITIONS } from "./lifecycle.ts";
import { LiveExecution } from "./live-execution.ts";
import { DEFAULT_RETRY_CONFIG, type ToolExecutionStatus } from "./types.ts";

const tool = { name: "t", description: "T.", schema: z.object({}), handler: () => "" };

function execution(clock = new ManualClock()): LiveExecution {
  return new LiveExecution(tool, "c1", { a: 1 }, DEFAULT_RETRY_CONFIG, clock);
}

test("the record follows the execution, and earlier records do not change", async () => {
  const clock = new ManualClock(1_000);
  const live = execution(clock);
  const first = live.record;
  live.validate();
  await clock.advance(5);
  live.nextAttempt();
  live.enterHandler();
  const error = new ToolError("once", { category: "transient" });
  live.retryAfter(error);
  await clock.advance(10);
  live.nextAttempt();
  live.enterHandler();
  live.succeed("done");
  assert.deepEqual([first.status, first.retry.attemptNumber, first.timing.startedAt], ["pending", 0, undefined]);
  assert.deepEqual(live.record, {
    id: live.id,
    toolCallId: "c1",
    toolName: "t",
    args: { a: 1 },
    status: "succeeded",
    result: "done",
    error: undefined,
    timing: { queuedAt: 1_000, startedAt: 1_005, completedAt: 1_015, duration: 15 },
    retry: { attemptNumber: 2, maxAttempts: 3, previousErrors: [error] },
  });
  assert.ok(
    [live.record, live.record.timing, live.record.retry, live.record.retry.previousErrors].every(Object.isFrozen),
  );
  assert.deepEqual(live.outcome, { success: true, result: "done" });
});

test("a failure aborts the attempt with its error", () => {
  const live = execution();
  live.validate();
  const attempt = live.nextAttempt();
  live.enterHandler();
  const error = new ToolError("no");
  live.fail(error);
  assert.deepEqual([live.record.status, attempt.signal.reason, live.end.signal.aborted], ["failed", error, true]);
  assert.deepEqual(live.outcome, { success: false, error });
});

test("nothing follows an end, and illegal steps throw", () => {
  const live = execution();
  assert.throws(() => live.enterHandler(), /from pending to executing/);
  assert.throws(() => live.outcome, /has not ended/);
  live.fail(new ToolError("", { category: "cancelled" }));
  assert.equal(live.record.status, "cancelled");
  for (const step of [() => live.validate(), () => live.succeed(""), () => live.fail(new ToolError(""))]) {
    assert.throws(step, /from cancelled/);
  }
});

test("every state but the last three leads on, and every end can be reached", () => {
  const statuses = Object.keys(TRANSITIONS) as ToolExecutionStatus[];
  assert.deepEqual(statuses.filter(isTerminal), ["succeeded", "failed", "cancelled"]);
  const reached = new Set<ToolExecutionStatus>(["pending"]);
  for (const status of reached) for (const next of TRANSITIONS[status]) reached.add(next);
  assert.equal(reached.size, statuses.length);
});

test("ids do not collide", () => {
  assert.equal(new Set(Array.from({ length: 1_000 }, () => execution().id)).size, 1_000);
});
