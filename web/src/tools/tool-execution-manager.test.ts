import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import * as z from "zod";
import {
  KINDS,
  begin,
  clock,
  failing,
  idOf,
  managed,
  manager,
  never,
  seen,
  tool,
  transient,
} from "../testing/execution-stage.ts";
import { settle } from "../testing/manual-clock.ts";
import { ToolError } from "./errors.ts";
import { ToolExecutionManager } from "./tool-execution-manager.ts";
import type { ToolExecutionContext } from "./types.ts";

beforeEach(begin);

describe("one attempt", () => {
  test("succeeds, with each event once and in order", async () => {
    const outcome = await manager.execute(
      tool(() => "done"),
      "c1",
      {},
    );
    assert.deepEqual(outcome, { success: true, result: "done" });
    const expected = ["started pending 0", "validating validating 0", "executing executing 1", "succeeded succeeded 1"];
    assert.deepEqual(seen, expected);
  });

  test("hands the handler its context", async () => {
    let context: ToolExecutionContext | undefined;
    await manager.execute(
      tool((_, given) => ((context = given), "")),
      "c1",
      {},
    );
    const { signal, ...rest } = context ?? assert.fail();
    assert.deepEqual(rest, { executionId: idOf("c1"), toolCallId: "c1", attemptNumber: 1, maxAttempts: 3 });
    assert.equal(signal.aborted, false);
  });

  test("bad arguments fail before the handler runs", async () => {
    let called = false;
    const outcome = await manager.execute(
      tool(() => ((called = true), "")),
      "c1",
      { n: "x" },
    );
    assert.equal(!outcome.success && outcome.error.category, "validation");
    assert.equal(called, false);
    assert.deepEqual(seen, ["started pending 0", "validating validating 0", "failed failed 1"]);
    assert.equal(manager.getExecution(idOf("c1"))?.timing.startedAt, undefined);
  });

  test("a foreign error is categorised, and a thrown AbortError is a cancellation", async () => {
    const outcome = await manager.execute(tool(failing(new Error("no"))), "c1", {});
    assert.deepEqual(!outcome.success && [outcome.error.category, outcome.error.message], ["execution", "no"]);
    await manager.execute(tool(failing(new DOMException("left", "AbortError"))), "c2", {});
    assert.equal(manager.getExecution(idOf("c2"))?.status, "cancelled");
  });

  test("the events have their details", async () => {
    const details: unknown[] = [];
    manager.addEventListener("tool-execution-succeeded", ({ detail }) => details.push(detail.result));
    manager.addEventListener("tool-execution-failed", ({ detail }) => details.push(detail.error));
    const error = new ToolError("no");
    await manager.execute(
      tool(() => "done"),
      "c1",
      {},
    );
    await manager.execute(tool(failing(error)), "c2", {});
    assert.deepEqual(details, ["done", error]);
  });

  test("an executor that does not say when it begins still has all events", async () => {
    managed({ execute: async () => "other" });
    assert.deepEqual(await manager.execute(tool(never), "c1", {}), { success: true, result: "other" });
    assert.deepEqual(
      seen.map((line) => line.split(" ")[0]),
      ["started", "validating", "executing", "succeeded"],
    );
  });

  test("a handler cannot change the arguments of the record", async () => {
    const change = tool((args) => (((args as { n: number }).n = 2), ""));
    await manager.execute({ ...change, schema: z.any() }, "c1", { n: 1 });
    assert.deepEqual(manager.getExecution(idOf("c1"))?.args, { n: 1 });
  });
});

describe("retries", () => {
  test("an idempotent tool is tried again after a delay, with all events", async () => {
    const retries: unknown[] = [];
    manager.addEventListener("tool-execution-retrying", ({ detail: { attempt, maximum, error, delayMs } }) =>
      retries.push([attempt, maximum, error.message, delayMs]),
    );
    const work = manager.execute(tool(failing(transient(), transient()), { idempotent: true }), "c1", {});
    await clock.advance(499);
    assert.equal(seen.at(-1), "retrying executing 1");
    await clock.advance(1);
    assert.equal(seen.at(-1), "retrying executing 2");
    await clock.advance(1_000);
    assert.deepEqual(await work, { success: true, result: "done" });
    assert.deepEqual(retries, [
      [1, 3, "away", 500],
      [2, 3, "away", 1_000],
    ]);
    assert.deepEqual(seen, [
      "started pending 0",
      "validating validating 0",
      "executing executing 1",
      "retrying executing 1",
      "executing executing 2",
      "retrying executing 2",
      "executing executing 3",
      "succeeded succeeded 3",
    ]);
    assert.equal(manager.getExecution(idOf("c1"))?.retry.previousErrors.length, 2);
    assert.equal(clock.pending, 0);
  });

  test("fails once, after all attempts, with the last error", async () => {
    const last = transient();
    const work = manager.execute(tool(failing(transient(), transient(), last), { idempotent: true }), "c1", {});
    await clock.advance(10_000);
    assert.deepEqual(await work, { success: false, error: last });
    assert.deepEqual(
      seen.filter((line) => line.startsWith("failed")),
      ["failed failed 3"],
    );
  });

  test("another tool is tried again only when the error says that nothing was done", async () => {
    const first = await manager.execute(tool(failing(transient())), "c1", {});
    assert.equal(first.success, false);
    const refused = new ToolError("busy", { category: "transient", retryable: true });
    const work = manager.execute(tool(failing(refused)), "c2", {});
    await clock.advance(500);
    assert.equal((await work).success, true);
  });

  test("waits as long as the error says", async () => {
    const error = new ToolError("busy", { category: "transient", retryAfter: 5_000 });
    const work = manager.execute(tool(failing(error), { idempotent: true }), "c1", {});
    await clock.advance(4_999);
    assert.equal(seen.at(-1), "retrying executing 1");
    await clock.advance(1);
    assert.equal((await work).success, true);
  });

  test("a tool's own policy and the manager's default apply, each value by itself", async () => {
    const manager = new ToolExecutionManager(undefined, { maxAttempts: 2 }, { clock, random: () => 1 });
    const delays: number[] = [];
    manager.addEventListener("tool-execution-retrying", ({ detail }) => delays.push(detail.delayMs, detail.maximum));
    const once = manager.execute(tool(failing(transient(), transient()), { idempotent: true }), "c1", {});
    await clock.advance(10_000);
    assert.equal((await once).success, false);
    const retryConfig = { baseDelayMs: 10, maxAttempts: 5 };
    const own = manager.execute(tool(failing(transient(), transient()), { idempotent: true, retryConfig }), "c2", {});
    await clock.advance(10_000);
    assert.equal((await own).success, true);
    assert.deepEqual(delays, [1_000, 2, 10, 5, 20, 5]);
  });
});

describe("timeouts", () => {
  test("an attempt that takes too long is aborted and may be tried again", async () => {
    const reasons: unknown[] = [];
    const slow = tool(
      (_, { signal, attemptNumber }) => {
        signal.addEventListener("abort", () => reasons.push((signal.reason as ToolError).category));
        return attemptNumber === 1 ? never() : "done";
      },
      { idempotent: true, timeout: 100 },
    );
    const work = manager.execute(slow, "c1", {});
    await clock.advance(100);
    await clock.advance(500);
    assert.deepEqual(await work, { success: true, result: "done" });
    assert.deepEqual(reasons, ["timeout"]);
    assert.equal(clock.pending, 0);
  });

  test("the time limit of the whole execution ends an attempt and a delay, without another attempt", async () => {
    for (const handler of [never, failing(transient(), transient(), transient())]) {
      const work = manager.execute(tool(handler, { idempotent: true, totalTimeout: 600 }), "c1", {});
      await clock.advance(600);
      const outcome = await work;
      assert.equal(!outcome.success && outcome.error.category, "timeout");
      assert.match(seen.at(-1) ?? "", /^failed/);
      assert.equal(clock.pending, 0);
    }
  });
});

describe("cancellation", () => {
  test("ends a running attempt at once, also if the handler ignores it", async () => {
    let signal: AbortSignal | undefined;
    const work = manager.execute(
      tool((_, context) => ((signal = context.signal), never())),
      "c1",
      {},
    );
    await settle();
    assert.equal(manager.cancel(idOf("c1")), true);
    assert.equal(manager.cancel(idOf("c1")), false);
    const outcome = await work;
    assert.equal(!outcome.success && outcome.error.category, "cancelled");
    assert.deepEqual([signal?.aborted, seen.at(-1)], [true, "cancelled cancelled 1"]);
  });

  test("a result that comes after the cancellation is discarded", async () => {
    let finish: (result: string) => void = () => {};
    const work = manager.execute(
      tool(() => new Promise((resolve) => (finish = resolve))),
      "c1",
      {},
    );
    await settle();
    finish("late");
    manager.cancel(idOf("c1"));
    assert.equal((await work).success, false);
    await settle();
    assert.equal(manager.getExecution(idOf("c1"))?.status, "cancelled");
    assert.equal(seen.filter((line) => /succeeded|cancelled|failed/.test(line)).length, 1);
  });

  test("ends the delay before a retry", async () => {
    const work = manager.execute(tool(failing(transient()), { idempotent: true }), "c1", {});
    await settle();
    manager.cancel(idOf("c1"));
    assert.equal((await work).success, false);
    assert.equal(clock.pending, 0);
  });

  test("by the caller's signal, before the call and during it", async () => {
    const early = await manager.execute(tool(never), "c1", {}, AbortSignal.abort());
    assert.equal(early.success, false);
    assert.deepEqual(seen, ["started pending 0", "cancelled cancelled 0"]);
    const controller = new AbortController();
    const work = manager.execute(tool(never), "c2", {}, controller.signal);
    await settle();
    controller.abort();
    assert.equal((await work).success, false);
  });

  for (const kind of KINDS.slice(0, 4)) {
    test(`by a listener of ${kind}`, async () => {
      manager.addEventListener(`tool-execution-${kind}`, ({ detail }) => void manager.cancel(detail.execution.id));
      let calls = 0;
      const handler = () => {
        calls += 1;
        throw transient();
      };
      assert.equal((await manager.execute(tool(handler, { idempotent: true }), "c1", {})).success, false);
      assert.equal(seen.filter((line) => line.startsWith("cancelled")).length, 1);
      assert.equal(calls, kind === "retrying" ? 1 : 0);
      assert.equal(clock.pending, 0);
    });
  }

  test("of all executions at once", async () => {
    const work = ["c1", "c2", "c3"].map((id) => manager.execute(tool(never), id, {}));
    await settle();
    assert.equal(manager.cancelAll(), 3);
    assert.equal(manager.cancelAll(), 0);
    assert.ok((await Promise.all(work)).every(({ success }) => !success));
  });
});

describe("lookups", () => {
  test("find executions by id and by call", async () => {
    await manager.execute(
      tool(() => "one"),
      "c1",
      {},
    );
    await manager.execute(
      tool(() => "two"),
      "c1",
      {},
    );
    assert.deepEqual(
      manager.getExecutionsForToolCall("c1").map(({ result }) => result),
      ["one", "two"],
    );
    assert.deepEqual(manager.getExecutionsForToolCall("c2"), []);
    assert.equal(manager.getExecution("none"), undefined);
  });

  test("the history is bounded, and running executions stay in it", async () => {
    managed(undefined, { historyLimit: 3 });
    const running = manager.execute(tool(never), "running", {});
    for (let i = 0; i < 10; i++)
      await manager.execute(
        tool(() => ""),
        `c${i}`,
        {},
      );
    assert.deepEqual(manager.getExecutionsForToolCall("c6"), []);
    assert.deepEqual(
      ["c7", "c9", "running"].map((id) => manager.getExecutionsForToolCall(id).length),
      [1, 1, 1],
    );
    manager.cancelAll();
    await running;
  });
});
