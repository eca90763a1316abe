import assert from "node:assert/strict";
import { test } from "node:test";
import { sinceStart, tickLabel, TimeScale } from "./time-scale.ts";

const HOUR = 3_600_000;
const GAPS = [
  { from: 10_000, to: 10_000 + HOUR },
  { from: 20_000 + HOUR, to: 20_000 + 3 * HOUR },
];

test("idle times take one second each, and every time has its place", () => {
  const scale = new TimeScale(GAPS);
  assert.equal(scale.position(5_000), 5_000);
  assert.equal(scale.position(10_000 + HOUR), 11_000);
  assert.equal(scale.position(10_000 + HOUR / 2), 10_500);
  assert.equal(scale.position(25_000 + 3 * HOUR), 27_000);
  for (const at of [0, 9_999, 10_000 + HOUR / 3, 15_000 + HOUR, 20_000 + 2 * HOUR, 4 * HOUR])
    assert.ok(Math.abs(scale.time(scale.position(at)) - at) < 1e-3, String(at));
});

test("zooming keeps the time under the pointer, and stays within the bounds", () => {
  const scale = new TimeScale();
  const bounds = { from: 0, to: 1000 };
  assert.deepEqual(scale.zoom(bounds, 2, 0.25, bounds), { from: 125, to: 625 });
  assert.deepEqual(scale.zoom({ from: 125, to: 625 }, 0.1, 0.5, bounds), bounds);
  assert.deepEqual(scale.pan({ from: 125, to: 625 }, 5, bounds), { from: 500, to: 1000 });
  assert.deepEqual(scale.pan({ from: 125, to: 625 }, -0.1, bounds), { from: 75, to: 575 });
  assert.deepEqual(scale.toEnd({ from: 0, to: 100 }, bounds), { from: 900, to: 1000 });
  const closest = scale.zoom(bounds, 1e9, 0.5, bounds);
  assert.equal(closest.to - closest.from, 2);
});

test("a window is projected onto pixels", () => {
  const scale = new TimeScale(GAPS);
  const x = scale.project({ from: 0, to: 20_000 + HOUR }, 210);
  assert.equal(x(0), 0);
  assert.equal(x(10_000), 100);
  assert.equal(x(10_000 + HOUR), 110);
  assert.equal(scale.timeAt({ from: 0, to: 20_000 + HOUR }, 0.5), 10_000 + HOUR / 2);
});

test("ticks are at round times, apart from each other, and not in idle times", () => {
  const ticks = new TimeScale().ticks({ from: 1_500, to: 11_500 }, 1000, 90);
  assert.deepEqual(
    ticks.map(({ at, x }) => [at, x]),
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((second) => [second * 1000, second * 100 - 150]),
  );
  const scale = new TimeScale(GAPS);
  const shortened = scale.ticks({ from: 0, to: 20_000 + 4 * HOUR }, 1000, 90);
  assert.ok(shortened.length > 0);
  for (const { at } of shortened) assert.equal(scale.gapAt(at), null);
  for (const [index, { x }] of shortened.entries()) assert.ok(index === 0 || x - (shortened[index - 1]?.x ?? 0) >= 80);
  assert.ok(new TimeScale().ticks({ from: 0, to: 1e13 }, 1000, 90).length < 200);
});

test("times are written as exactly as they are needed", () => {
  const at = new Date(2026, 0, 2, 3, 4, 5, 67).getTime();
  assert.equal(tickLabel(at, 100), "03:04:05.067");
  assert.equal(tickLabel(at, 5_000), "03:04:05");
  assert.equal(tickLabel(at, 60_000), "03:04");
  assert.equal(sinceStart(62_500), "+1:02.500");
  assert.equal(sinceStart(3_723_004), "+1:02:03.004");
  assert.equal(sinceStart(90_061_000), "+1d 01:01:01");
  assert.equal(sinceStart(-5), "+0:00.000");
});
