import assert from "node:assert/strict";
import { test } from "node:test";
import { failureSeries, type MinuteInfo, type OperationsInfo, SampleWindow, wholeHour } from "./operations.ts";
import { NO_USAGE } from "./usage.ts";

const START = Date.parse("2026-11-16T12:00:00Z");

function report(second: number, calls: number, more: object = {}, store: object = {}): OperationsInfo {
  const process = {
    version: "1",
    python: "3.14",
    started_at: "2026-11-16T11:00:00Z",
    sessions: 1,
    readers: 1,
    executions: { executing: 3, waiting: 2, pending: 1 },
    queued: 1,
    waiting: 2,
    calls: { calls, failures: { timeout: calls / 10 }, cancellations: 0, retries: 0 },
    turns: { running: 1, ended: { finished: calls / 5 }, usage: NO_USAGE },
    store: {
      kind: "sqlite",
      available: true,
      commits: calls,
      commit_seconds: calls * 0.002,
      commit_failures: 0,
      changes: {},
      ...store,
    },
    limits: {},
    kept_bytes: 0,
    ...more,
  };
  const user = { sessions: 1, running: 0, queued: 0, waiting: 0 };
  return { at: new Date(START + second * 1000).toISOString(), is_operator: true, user, process };
}

test("rates come from the counters of two reports", () => {
  const window = new SampleWindow();
  window.add(report(0, 100));
  assert.equal(window.newest?.callRate, null, "one report has no rate");
  window.add(report(2, 140));
  assert.deepEqual([window.newest?.callRate, window.newest?.failureRate, window.newest?.turnRate], [20, 2, 4]);
  assert.ok(Math.abs((window.newest?.commitSeconds ?? 0) - 0.002) < 1e-9);
  assert.deepEqual([window.newest?.running, window.newest?.queued, window.newest?.waiting], [3, 1, 2]);
  assert.deepEqual(window.times, [START / 1000, START / 1000 + 2]);
  assert.deepEqual(window.values("callRate"), [null, 20]);
});

test("without a commit there is no duration of one", () => {
  const window = new SampleWindow();
  window.add(report(0, 100));
  window.add(report(2, 100));
  assert.equal(window.newest?.commitSeconds, null);
});

test("a window is bounded, begins again with another process, and ignores old reports", () => {
  const window = new SampleWindow(3);
  for (let second = 0; second < 10; second++) window.add(report(second, second));
  assert.equal(window.samples.length, 3);
  window.add(report(5, 5));
  assert.equal(window.samples.length, 3);
  window.add(report(20, 1, { started_at: "2026-11-16T12:00:15Z" }));
  assert.deepEqual(window.values("callRate"), [null], "counters of another process are not compared");
});

test("a person without the right to see the process has no samples", () => {
  const window = new SampleWindow();
  window.add({ ...report(0, 1), process: null });
  assert.equal(window.newest, undefined);
});

const minute = (start: string, calls: number, failures = {}): MinuteInfo => ({
  start,
  calls,
  failures,
  cancellations: 0,
  p50: 0.1,
  p95: 0.2,
  p99: 0.3,
});

test("minutes without calls are filled in", () => {
  const found = wholeHour([minute("2026-11-16T12:00:00Z", 3), minute("2026-11-16T12:03:00Z", 4)], START + 240_000);
  assert.deepEqual(
    found.slice(-5).map(({ calls, p50 }) => [calls, p50]),
    [
      [3, 0.1],
      [0, null],
      [0, null],
      [4, 0.1],
      [0, null],
    ],
  );
  assert.equal(found.length, 60);
  assert.equal(found[0]?.start, "2026-11-16T11:05:00.000Z");
  const old = wholeHour([minute("2026-11-16T11:00:00Z", 1)], START);
  assert.ok(
    old.every(({ calls }) => calls === 0),
    "an hour at most",
  );
});

test("failures are series by category, and rare ones are joined", () => {
  const many = Object.fromEntries([..."abcdefgh"].map((name, at) => [name, 10 - at]));
  const series = failureSeries([minute("2026-11-16T12:00:00Z", 99, many), minute("2026-11-16T12:01:00Z", 1)], "others");
  assert.deepEqual(
    series.map(({ label, values }) => [label, ...values]),
    [
      ["a", 10, 0],
      ["b", 9, 0],
      ["c", 8, 0],
      ["d", 7, 0],
      ["e", 6, 0],
      ["others", 12, 0],
    ],
  );
  assert.deepEqual(failureSeries([], "others"), []);
});
