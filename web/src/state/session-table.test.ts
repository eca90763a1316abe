import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionInfo } from "../api/wire.ts";
import { COLUMNS, mergeSessions, NEWEST_FIRST, nextOrder, sortSessions, statusOf } from "./session-table.ts";
import { NO_USAGE } from "./usage.ts";

const session = (id: string, minute: number, more: Partial<SessionInfo> = {}): SessionInfo => ({
  session_id: id,
  title: id,
  last_activity_at: `2026-11-16T12:0${minute}:00Z`,
  ...more,
});

const rows = [
  session("a", 1, { usage: { ...NO_USAGE, input_tokens: 5, cost: 0.5 }, calls: 3 }),
  session("b", 3, { running: true, calls: 1 }),
  session("c", 2, { waiting: 2, usage: { ...NO_USAGE, input_tokens: 9, cost: 0.1 } }),
];
const ids = (found: readonly SessionInfo[]) => found.map(({ session_id: id }) => id).join("");

test("sessions are sorted by every column, and those without a value come last", () => {
  assert.equal(ids(sortSessions(rows, NEWEST_FIRST)), "bca");
  assert.equal(ids(sortSessions(rows, { column: "activity", isDescending: false })), "acb");
  assert.equal(ids(sortSessions(rows, { column: "title", isDescending: true })), "cba");
  assert.equal(ids(sortSessions(rows, { column: "cost", isDescending: true })), "acb");
  assert.equal(ids(sortSessions(rows, { column: "cost", isDescending: false })), "cab");
  assert.equal(ids(sortSessions(rows, { column: "tokens", isDescending: true })), "cab");
  assert.equal(ids(sortSessions(rows, { column: "calls", isDescending: true })), "abc");
  assert.equal(ids(sortSessions(rows, { column: "waiting", isDescending: true })), "cba");
  assert.equal(ids(sortSessions(rows, { column: "status", isDescending: false })), "bca");
  for (const column of COLUMNS) assert.equal(sortSessions([], { column, isDescending: true }).length, 0);
});

test("a click changes the direction, or begins with the natural one", () => {
  assert.deepEqual(nextOrder(NEWEST_FIRST, "activity"), { column: "activity", isDescending: false });
  assert.deepEqual(nextOrder(NEWEST_FIRST, "cost"), { column: "cost", isDescending: true });
  assert.deepEqual(nextOrder(NEWEST_FIRST, "title"), { column: "title", isDescending: false });
});

test("newer states replace known ones", () => {
  const merged = mergeSessions(rows, [session("a", 5), session("d", 6)]);
  assert.equal(ids(sortSessions(merged, NEWEST_FIRST)), "dabc");
  assert.equal(merged.length, 4);
});

test("a status is one word", () => {
  assert.deepEqual(rows.map(statusOf), ["idle", "running", "waiting"]);
  assert.equal(statusOf(session("x", 0, { open: false })), "closed");
});
