import assert from "node:assert/strict";
import { test } from "node:test";
import { entryOf, KINDS, LANES } from "./board-entry.ts";

const at = "2026-01-01T00:00:00.500Z";
const entry = (kind: string, data: Record<string, unknown> = {}) => entryOf({ seq: 7, kind, at, data });

test("an event is kept in short", () => {
  const call = { execution_id: "x1", call_id: "c1", tool: "pay", mode: "human" };
  assert.deepEqual(entry("tool_retrying", { ...call, attempt: 2, error: { category: "transient", message: "away" } }), {
    seq: 7,
    at: Date.parse(at),
    kind: "tool_retrying",
    lane: "calls",
    family: "system",
    tool: "pay",
    call: "x1",
    turn: "",
    request: "",
    attempt: 2,
    failed: true,
    status: "",
    text: "transient: away",
  });
  assert.equal(entry("tool_started", { tool: "add", arguments: { a: 1 } }).text, "a: 1");
  assert.equal(entry("tool_started", { tool: "add" }).family, "chat");
  assert.equal(entry("tool_progress", { stage: "read", fraction: 0.5, message: null }).text, "read 50%");
  assert.equal(entry("tool_progress", { stage: "read", fraction: 2 / 3, message: "page 2" }).text, "read 66%: page 2");
  assert.equal(entry("tool_executing", { attempt: 1, maximum: 3 }).text, "");
  assert.equal(entry("tool_executing", { attempt: 2, maximum: 3 }).text, "attempt 2 of 3");
  assert.equal(entry("tool_result", { status: "failed" }).failed, true);
  assert.equal(entry("tool_result", { status: "cancelled" }).failed, false);
  assert.equal(entry("human_answer", { request_id: "r", answer: { approved: true } }).request, "r");
});

test("events of any shape are taken", () => {
  assert.equal(entry("from_the_future", { value: 1, tool: 5 }).lane, "system");
  assert.equal(entry("from_the_future", { value: 1 }).text, "value: 1");
  assert.equal(entryOf({ seq: 1, kind: "text", at, data: null as never }).text, "");
  for (const kind of LANES.flatMap((lane) => KINDS[lane])) {
    entry(kind);
    entry(kind, { error: "no object", fraction: "none", payload: [], answer: null, arguments: null, value: null });
  }
});

test("a large result is not kept", () => {
  assert.ok(entry("tool_result", { status: "succeeded", value: "x".repeat(1_000_000) }).text.length <= 201);
});
