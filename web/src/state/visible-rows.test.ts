import assert from "node:assert/strict";
import { test } from "node:test";
import { scrollToRow, visibleRows } from "./visible-rows.ts";

test("only rows near the visible part are drawn, however long the list is", () => {
  const rows = visibleRows(10_000, 50, { top: 5_000, height: 500 });
  assert.equal(rows[0], 92);
  assert.equal(rows.at(-1), 117);
  assert.deepEqual(visibleRows(3, 50, { top: 0, height: 500 }), [0, 1, 2]);
  assert.deepEqual(visibleRows(0, 50, { top: 0, height: 500 }), []);
});

test("a kept row is drawn wherever it is, once", () => {
  const rows = visibleRows(100, 50, { top: 0, height: 100 }, [90, 1, -1, 100]);
  assert.deepEqual(rows, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 90]);
});

test("a row is scrolled to only if it is not visible", () => {
  const viewport = { top: 100, height: 200 };
  assert.equal(scrollToRow(0, 50, viewport), 0);
  assert.equal(scrollToRow(3, 50, viewport), 100);
  assert.equal(scrollToRow(6, 50, viewport), 150);
});
