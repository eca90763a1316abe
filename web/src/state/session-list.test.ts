import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionInfo } from "../api/wire.ts";
import { mergeFirstPage, mergeNextPage } from "./session-list.ts";

const session = (id: string, minute: number): SessionInfo => ({
  session_id: id,
  last_activity_at: `2026-01-01T00:${String(minute).padStart(2, "0")}:00Z`,
});
const ids = (sessions: readonly SessionInfo[]) => sessions.map(({ session_id: id }) => id).join("");

test("a session that moved to the front is listed once, and a deleted one no longer", () => {
  const listed = [session("a", 9), session("b", 8), session("c", 7), session("d", 6)];
  const page = [session("c", 10), session("b", 8)];
  assert.equal(ids(mergeFirstPage(listed, page, false)), "cbd");
});

test("a first page that is the whole list replaces it", () => {
  assert.equal(ids(mergeFirstPage([session("a", 9), session("b", 8)], [session("b", 8)], true)), "b");
});

test("later pages are added by activity, and repeat no session", () => {
  const listed = [session("a", 9), session("b", 8)];
  assert.equal(ids(mergeNextPage(listed, [session("c", 7), session("b", 10)])), "bac");
});
