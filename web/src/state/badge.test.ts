import assert from "node:assert/strict";
import { test } from "node:test";
import { countText, titleWith } from "./badge.ts";

test("the badge counts up to a page of requests", () => {
  assert.deepEqual([1, 99, 100, 10_000].map(countText), ["1", "99", "99+", "99+"]);
  assert.deepEqual([titleWith(0, "Callboard"), titleWith(2, "Callboard")], ["Callboard", "(2) Callboard"]);
});
