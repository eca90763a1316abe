import assert from "node:assert/strict";
import { test } from "node:test";
import { excerpt } from "./excerpt.ts";

test("a value is one line", () => {
  assert.equal(excerpt("two\n  lines", 50), "two lines");
  assert.equal(
    excerpt({ city: "Paris", days: [1, { a: null }], ok: true }, 80),
    'city: "Paris", days: [1, {a: null}], ok: true',
  );
  assert.equal(excerpt(null, 50), "null");
  assert.equal(excerpt({}, 50), "");
});

test("a long value is cut, and not read to its end", () => {
  assert.equal(excerpt("x".repeat(1000), 10), `${"x".repeat(10)}…`);
  const trap = { a: "y".repeat(100), get b() { throw new Error("read"); } }; // prettier-ignore
  assert.throws(() => excerpt(trap, 1000));
  const many = excerpt(
    Array.from({ length: 1_000_000 }, (_, index) => index),
    20,
  );
  assert.equal(many, "[0, 1, 2, 3, 4, 5, 6…");
});
