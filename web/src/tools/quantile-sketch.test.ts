import assert from "node:assert/strict";
import { test } from "node:test";
import { QuantileSketch } from "./quantile-sketch.ts";

test("quantiles are exact to one percent, over nine orders of magnitude", () => {
  for (const scale of [0.01, 1, 1_000, 100_000]) {
    const sketch = new QuantileSketch();
    for (let i = 1; i <= 1_000; i++) sketch.add(i * scale);
    for (const [share, value] of [
      [0.5, 500],
      [0.95, 950],
      [0.99, 990],
      [1, 1_000],
      [0, 1],
    ] as const) {
      const found = sketch.quantile(share);
      assert.ok(
        found !== undefined && Math.abs(found / (value * scale) - 1) < 0.0101,
        `${share} of ${scale}: ${found}`,
      );
    }
  }
});

test("there are no quantiles of nothing, and zero is a small value", () => {
  const sketch = new QuantileSketch();
  assert.equal(sketch.quantile(0.5), undefined);
  sketch.add(0);
  assert.ok((sketch.quantile(0.5) ?? 1) <= 0.0011);
});
