import assert from "node:assert/strict";
import { test } from "node:test";
import {
  drawnSeries,
  isEmptyPlot,
  isolated,
  type PlotSeries,
  rangeFromZero,
  timeLabels,
  timeRange,
} from "./plot-data.ts";

const series = (...values: (number | null)[]): PlotSeries => ({ label: "calls", values, color: "busy" });

test("a plot without times or without values is empty, one of zeros is not", () => {
  assert.equal(isEmptyPlot([], [series(1)]), true);
  assert.equal(isEmptyPlot([1], []), true);
  assert.equal(isEmptyPlot([1, 2], [series(null, NaN)]), true);
  assert.equal(isEmptyPlot([1], [series(0)]), false);
});

test("every series has one value for each time, and null for what cannot be drawn", () => {
  const [drawn] = drawnSeries([1, 2, 3, 4], [series(5, Infinity, null)], "lines");
  assert.deepEqual(drawn, { position: 0, values: [5, null, null, null] });
});

test("stacked series are sums, the highest first", () => {
  const drawn = drawnSeries([1, 2], [series(1, 2), series(3, null), series(5, 7)], "stacked");
  assert.deepEqual(drawn, [
    { position: 2, values: [9, 9] },
    { position: 1, values: [4, 2] },
    { position: 0, values: [1, 2] },
  ]);
});

test("the range starts at zero, and counts have whole limits", () => {
  assert.deepEqual(rangeFromZero(null), [0, 1]);
  assert.deepEqual(rangeFromZero(0), [0, 1]);
  assert.deepEqual(rangeFromZero(1, true), [0, 2]);
  assert.deepEqual(rangeFromZero(10, true), [0, 11]);
});

test("labels of times have the date only if they span days", () => {
  const at = Date.UTC(2026, 0, 5, 13, 4, 9) / 1000;
  assert.deepEqual(timeLabels([at, at + 600], "en-GB", "UTC"), ["13:04", "13:14"]);
  assert.deepEqual(timeLabels([at, at + 10], "en-GB", "UTC"), ["13:04:09", "13:04:19"]);
  assert.deepEqual(timeLabels([at, at + 2 * 86_400], "en-GB", "UTC"), ["5 Jan, 13:04", "7 Jan, 13:04"]);
  assert.deepEqual(timeLabels([at, at + 9 * 86_400], "en-GB", "UTC"), ["5 Jan", "14 Jan"]);
  assert.deepEqual(timeLabels([]), []);
});

test("bars have half a step of space at both ends, lines have none", () => {
  assert.deepEqual(timeRange(60, 180, [60, 120, 180], "bars"), [30, 210]);
  assert.deepEqual(timeRange(60, 180, [60, 120, 180], "lines"), [60, 180]);
  assert.deepEqual(timeRange(60, 60, [60], "lines"), [30, 90]);
  assert.deepEqual(timeRange(60, 60 + 86_400_000, [60], "lines"), [30, 90]);
});

test("a value between gaps is isolated", () => {
  assert.deepEqual(isolated([1, null, 2, 3, null, 4]), [0, 5]);
  assert.deepEqual(isolated([]), []);
});
