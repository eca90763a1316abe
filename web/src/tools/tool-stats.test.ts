import assert from "node:assert/strict";
import { test } from "node:test";
import { ToolStats } from "./tool-stats.ts";

test("counts calls, failures by category, cancellations and retries", () => {
  const stats = new ToolStats();
  for (let i = 0; i < 6; i++) stats.ended(10);
  stats.failed("timeout", 30, 1_000);
  stats.failed("timeout", 30, 2_000);
  stats.failed("cancelled", 20, 3_000);
  stats.retried();
  const { p50, p95, p99, ...counted } = stats.read("open");
  assert.deepEqual(counted, {
    calls: 9,
    successes: 6,
    failures: { timeout: 2 },
    cancellations: 1,
    retries: 1,
    totalTime: 140,
    averageTime: 140 / 9,
    successRate: 6 / 8,
    lastErrorAt: 2_000,
    breaker: "open",
  });
  for (const [found, expected] of [
    [p50, 10],
    [p95, 30],
    [p99, 30],
  ] as const) {
    assert.ok(found !== undefined && Math.abs(found / expected - 1) < 0.011);
  }
});

test("a tool that was never called has no rates", () => {
  const { averageTime, p50, successRate, lastErrorAt, calls } = new ToolStats().read("closed");
  assert.deepEqual(
    [averageTime, p50, successRate, lastErrorAt, calls],
    [undefined, undefined, undefined, undefined, 0],
  );
});
