import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import {
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

beforeEach(begin);

describe("breaker and statistics", () => {
  test("a tool that keeps failing is refused, probed and used again", async () => {
    managed(undefined, { breaker: { failureThreshold: 2, recoveryTime: 1_000, successThreshold: 1 } });
    let calls = 0;
    const handler = () => {
      calls += 1;
      if (calls <= 2) throw new Error("broken");
      return "done";
    };
    for (const id of ["c1", "c2"]) await manager.execute(tool(handler), id, {});
    assert.equal(manager.stats("t").breaker, "open");
    assert.deepEqual(manager.breaker("t"), { state: "open", refusedFor: 1_000 });
    assert.deepEqual(manager.breaker("other"), { state: "closed", refusedFor: 0 });
    const refused = await manager.execute(tool(handler), "c3", {});
    assert.deepEqual(!refused.success && [refused.error.category, refused.error.retryAfter], ["transient", 1_000]);
    assert.deepEqual([calls, seen.at(-1), seen.at(-2)], [2, "failed failed 1", "validating validating 0"]);
    await clock.advance(1_000);
    assert.equal(manager.stats("t").breaker, "half_open");
    assert.deepEqual(manager.breaker("t"), { state: "half_open", refusedFor: 0 });
    assert.equal((await manager.execute(tool(handler), "c4", {})).success, true);
    assert.equal(manager.stats("t").breaker, "closed");
  });

  test("a cancelled probe does not keep the breaker half-open", async () => {
    managed(undefined, { breaker: { failureThreshold: 1, recoveryTime: 1_000, successThreshold: 1 } });
    await manager.execute(tool(failing(new Error("broken"))), "c1", {});
    await clock.advance(1_000);
    const probe = manager.execute(tool(never), "c2", {});
    await settle();
    manager.cancelAll();
    await probe;
    assert.equal(
      (
        await manager.execute(
          tool(() => "done"),
          "c3",
          {},
        )
      ).success,
      true,
    );
  });

  test("a tool's own policy applies", async () => {
    await manager.execute(tool(failing(new Error("broken")), { breaker: { failureThreshold: 1 } }), "c1", {});
    assert.equal(manager.stats("t").breaker, "open");
  });

  test("counts calls, failures, cancellations, retries and times, until they are reset", async () => {
    const slow = tool(() => new Promise<string>((resolve) => void clock.callLater(40, () => resolve(""))));
    const work = [manager.execute(slow, "c1", {}), manager.execute(slow, "c2", {})];
    await settle();
    manager.cancel(idOf("c2"));
    await clock.advance(40);
    await Promise.all(work);
    const retried = manager.execute(tool(failing(transient()), { idempotent: true }), "c3", {});
    await clock.advance(500);
    await retried;
    await manager.execute(tool(failing(new Error("no"))), "c4", {});
    const { calls, successes, failures, cancellations, retries, totalTime, lastErrorAt } = manager.stats("t");
    assert.deepEqual([calls, successes, failures, cancellations, retries], [4, 2, { execution: 1 }, 1, 1]);
    assert.deepEqual([totalTime, lastErrorAt], [540, clock.time()]);
    manager.resetStats("t");
    assert.equal(manager.stats("t").calls, 0);
    await manager.execute(
      tool(() => ""),
      "c5",
      {},
    );
    manager.resetStats();
    assert.equal(manager.stats("t").calls, 0);
  });
});
