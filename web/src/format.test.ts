import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "./api/exact-integer.ts";
import type { Fields } from "./api/wire.ts";
import { clock, duration, isShort, jsonStart, LONG, percent, short, timeOf, title } from "./format.ts";

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

test("a share of work is rounded down", () => {
  assert.deepEqual([0, 1 / 3, 0.999, 1].map(percent), ["0%", "33%", "99%", "100%"]);
});

test("a value fits on one line", () => {
  assert.deepEqual([null, "", [], ["a", 1], { a: 1 }, "text"].map(short), ["—", "—", "—", "a, 1", '{"a":1}', "text"]);
  assert.equal(short("x".repeat(1000)).length, LONG + 1);
});

test("a value that does not fit on one line is known", () => {
  const list = (count: number) => Array.from({ length: count }, (_, place) => `entry ${place}`);
  for (const value of [null, "x".repeat(LONG), list(30), { a: 1 }, [{ a: 1 }], []]) assert.ok(isShort(value));
  for (const value of ["x".repeat(LONG + 1), list(60), Array.from({ length: LONG + 1 }, () => ""), [list(20)]])
    assert.ok(!isShort(value));
  assert.ok(!isShort({ a: "x".repeat(100) }), "objects are short only if they are easy to read");
});

test("large integers are shown with all their digits", () => {
  const value = parseJson('{"id":9007199254740993,"ids":[9007199254740993,1]}') as Fields;
  assert.equal(short(value["id"]), "9007199254740993");
  assert.equal(short(value["ids"]), "9007199254740993, 1");
  assert.equal(jsonStart(value), '{"id":9007199254740993,"ids":[9007199254740993,1]}');
});

test("the start of a value's JSON is its JSON, and a large value costs no more", () => {
  for (const value of [{ a: [1, "b", null, { c: true }], d: undefined, e: {} }, [], [[]], "text", 5, null, [undefined]])
    assert.equal(jsonStart(value), JSON.stringify(value));
  let reads = 0;
  const list = new Proxy(Array.from({ length: 300_000 }).fill({ n: 1 }), {
    get: (target, name) => (reads++, Reflect.get(target, name)),
  });
  const large = { text: "x".repeat(500), list };
  assert.ok(
    JSON.stringify({ text: large.text, list: Array.from({ length: 1000 }).fill({ n: 1 }) }).startsWith(
      jsonStart(large, 1000),
    ),
  );
  short(list);
  assert.ok(reads < 2_000, `${reads} reads`);
});

test("a time has its date unless it is today", () => {
  const now = new Date(2026, 4, 5, 12);
  const earlier = new Date(2026, 4, 5, 9, 30).toISOString();
  assert.equal(timeOf(earlier, now), new Date(earlier).toLocaleTimeString());
  assert.equal(timeOf("2026-01-01T00:00:00Z", now), new Date("2026-01-01T00:00:00Z").toLocaleString());
});
