import assert from "node:assert/strict";
import { test } from "node:test";
import type { MinuteInfo } from "../api/tool-wire.ts";
import {
  addBreakerChanges,
  type BreakerChange,
  failureSeries,
  hourOf,
  latencySeries,
  MINUTES,
  outcomeSeries,
} from "./tool-statistics.ts";

const NOW = Date.UTC(2026, 0, 1, 12, 0, 30);
const LABELS = { succeeded: "ok", failed: "bad", cancelled: "gone" };

function minute(secondsAgo: number, more: Partial<MinuteInfo> = {}): MinuteInfo {
  const start = new Date(NOW - secondsAgo * 1000).toISOString();
  return { start, calls: 0, failures: {}, cancellations: 0, p50: null, p95: null, p99: null, ...more };
}

test("an hour has all minutes, and the calls are in theirs", () => {
  const hour = hourOf([minute(190, { calls: 1 }), minute(70, { calls: 2 })], NOW);
  assert.equal(hour.times.length, MINUTES);
  assert.deepEqual(
    hour.minutes.slice(-4).map((each) => each?.calls ?? null),
    [1, null, 2, null],
  );
  assert.equal(hour.times.at(-1), NOW / 1000 - 10);
});

test("minutes of a clock that is ahead are the newest, and odd ones are left out", () => {
  const hour = hourOf([minute(-90, { calls: 3 }), minute(9_000, { calls: 5 }), { ...minute(0), start: "?" }], NOW);
  assert.equal(hour.minutes.at(-1)?.calls, 3);
  assert.equal(hour.minutes.filter((each) => each !== null).length, 1);
  assert.equal(hourOf([], NOW).times.length, MINUTES);
});

test("outcomes add up to the calls", () => {
  const hour = hourOf([minute(10, { calls: 9, failures: { timeout: 2, execution: 1 }, cancellations: 1 })], NOW);
  assert.deepEqual(
    outcomeSeries(hour, LABELS).map(({ values }) => values.at(-1)),
    [5, 3, 1],
  );
});

test("failures have a series for each category, the most frequent first", () => {
  const hour = hourOf([minute(70, { failures: { odd: 1 } }), minute(10, { failures: { timeout: 4, odd: 1 } })], NOW);
  const series = failureSeries(hour);
  assert.deepEqual(
    series.map(({ label, color }) => [label, color]),
    [
      ["timeout", "wait"],
      ["odd", "ink"],
    ],
  );
  assert.deepEqual(series[1]?.values.slice(-2), [1, 1]);
  assert.deepEqual(failureSeries(hourOf([], NOW)), []);
});

test("latencies have gaps in minutes without calls", () => {
  const [median] = latencySeries(hourOf([minute(70, { p50: 0.5 })], NOW));
  assert.deepEqual(median?.values.slice(-3), [null, 0.5, null]);
});

test("changes of breakers are noted, newest first, and their number is bounded", () => {
  const open = { scope: "tool", target: null, state: "open", refused_for: 3 };
  let changes: readonly BreakerChange[] = addBreakerChanges([], [], [open], 1);
  assert.deepEqual(changes, [{ at: 1, scope: "tool", target: null, from: "closed", to: "open" }]);
  assert.equal(addBreakerChanges(changes, [open], [{ ...open, refused_for: 1 }], 2), changes);
  changes = addBreakerChanges(changes, [open], [], 3);
  assert.deepEqual(
    changes.map(({ to }) => to),
    ["closed", "open"],
  );
  for (let at = 4; at < 200; at++) changes = addBreakerChanges(changes, at % 2 ? [open] : [], at % 2 ? [] : [open], at);
  assert.equal(changes.length, 50);
});
