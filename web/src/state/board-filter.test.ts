import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, entryOf } from "./board-entry.ts";
import { FilteredEntries, isFiltered, matcher, NO_FILTER, readFilter } from "./board-filter.ts";
import { Deque } from "./deque.ts";

const at = "2026-01-01T00:00:00.000Z";
const made = (seq: number, kind: string, data: Record<string, unknown>) => entryOf({ seq, kind, at, data });

const ENTRIES = [
  made(1, "user_input", { text: "Check the stock (of lamps)" }),
  made(2, "tool_started", { execution_id: "x1", tool: "check_stock", arguments: { item: "lamps" } }),
  made(3, "tool_retrying", { execution_id: "x1", tool: "check_stock", attempt: 1, error: { message: "no answer" } }),
  made(4, "tool_result", { execution_id: "x1", tool: "check_stock", status: "succeeded", value: 3 }),
  made(5, "tool_result", {
    execution_id: "x2",
    tool: "pay",
    mode: "human",
    status: "failed",
    error: { message: "no" },
  }),
  made(6, "system_error", { message: "broken" }),
];

function numbers(filter: Partial<typeof NO_FILTER>): number[] {
  return ENTRIES.filter(matcher({ ...NO_FILTER, ...filter })).map(({ seq }) => seq);
}

test("events are selected by text, kind, family and failure", () => {
  assert.deepEqual(numbers({}), [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(numbers({ text: "LAMPS" }), [1, 2]);
  assert.deepEqual(numbers({ text: "stock lamps" }), [1, 2]);
  assert.deepEqual(numbers({ text: "(of" }), [1]);
  assert.deepEqual(numbers({ text: "x2" }), [5]);
  assert.deepEqual(numbers({ text: "tool_result" }), [4, 5]);
  assert.deepEqual(numbers({ kinds: ["tool_result", "user_input"] }), [1, 4, 5]);
  assert.deepEqual(numbers({ family: "system" }), [5, 6]);
  assert.deepEqual(numbers({ family: "chat" }), [1, 2, 3, 4]);
  assert.deepEqual(numbers({ failed: true }), [3, 5, 6]);
  assert.deepEqual(numbers({ failed: true, text: "pay" }), [5]);
});

test("a stored filter is read as far as it is valid", () => {
  assert.deepEqual(readFilter(null), NO_FILTER);
  assert.deepEqual(readFilter({ text: 5, kinds: ["a", 1], family: "other", failed: "yes" }), {
    ...NO_FILTER,
    kinds: ["a"],
  });
  const filter = { text: "a", kinds: [], family: "chat" as const, failed: true };
  assert.deepEqual(readFilter(JSON.parse(JSON.stringify(filter))), filter);
  assert.equal(isFiltered(NO_FILTER), false);
  assert.equal(isFiltered(filter), true);
});

test("the list follows a log that grows at both ends and is cut", () => {
  const log = new Deque<Entry>();
  const shown = new FilteredEntries({ ...NO_FILTER, text: "even" });
  const entry = (seq: number) => made(seq, "system_notice", { message: seq % 2 === 0 ? "even" : "odd" });
  const seqs = () => [...shown.entries].map(({ seq }) => seq);
  assert.equal(shown.advance(log), true);
  for (const seq of [10, 11, 12]) log.addNewest(entry(seq));
  shown.advance(log);
  assert.deepEqual(seqs(), [10, 12]);
  for (const seq of [9, 8, 7]) log.addOldest(entry(seq));
  for (const seq of [13, 14]) log.addNewest(entry(seq));
  shown.advance(log);
  assert.deepEqual(seqs(), [8, 10, 12, 14]);
  assert.equal(shown.position(11), 2);
  log.dropOldest(3);
  shown.dropBefore(10);
  log.addNewest(entry(15));
  log.addNewest(entry(16));
  shown.advance(log);
  assert.deepEqual(seqs(), [10, 12, 14, 16]);
});

test("a large log is scanned in slices, the newest first", () => {
  const log = new Deque<Entry>();
  for (let seq = 1; seq <= 2000; seq++) log.addNewest(made(seq, "system_notice", { message: "x" }));
  const shown = new FilteredEntries({ ...NO_FILTER, text: "x" });
  assert.equal(shown.advance(log, -1), false);
  assert.equal(shown.entries.last?.seq, 2000);
  assert.ok(shown.entries.length < 2000);
  while (!shown.advance(log, -1));
  assert.equal(shown.entries.length, 2000);
  assert.equal(shown.entries.first?.seq, 1);
});
