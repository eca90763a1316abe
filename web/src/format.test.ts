import assert from "node:assert/strict";
import { test } from "node:test";
import { clock, duration, LONG, short, title } from "./format.ts";

test("names are words", () => {
  assert.deepEqual(["url", "utc_offset", "urls_of_ids"].map(title), ["URL", "UTC offset", "Urls of ids"]);
});

test("durations are short", () => {
  assert.deepEqual([0.0001, 0.05, 1.25, 59.99, 75].map(duration), [
    "under 1 ms",
    "50 ms",
    "1.3 s",
    "1:00 min",
    "1:15 min",
  ]);
  assert.deepEqual([5, 3600, 3 * 86_400].map(clock), ["0:05 min", "1:00:00 h", "3 days"]);
});

test("a value fits on one line", () => {
  assert.deepEqual([null, "", ["a", 1], { a: 1 }, "text"].map(short), ["—", "—", "a, 1", '{"a":1}', "text"]);
  assert.equal(short("x".repeat(1000)).length, LONG + 1);
});
